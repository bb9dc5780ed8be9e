"""The prices in a deployment's settings, and what an hour of one run costs by them."""

from pydantic import BaseModel, ConfigDict, Field


class Prices(BaseModel):
    """List prices, in dollars. Those of a Region, or of an agreement, go into the deployment's settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    instance_hour: float | None = Field(default=None, gt=0, description="One training instance, on demand.")
    spot_instance_hour: float | None = Field(default=None, gt=0, description="The most that Spot may cost.")
    scratch_gib_month: float = Field(default=0.14, gt=0)
    persistent_gib_month: float | None = Field(default=None, gt=0, description="At the throughput that jobs use.")


class Rates(BaseModel):
    """Dollars an hour, by part. None: the deployment does not know the price."""

    model_config = ConfigDict(frozen=True)

    instance_usd_per_hour: float | None
    file_system_usd_per_hour: float | None

    @property
    def usd_per_hour(self) -> float | None:
        if self.instance_usd_per_hour is None or self.file_system_usd_per_hour is None:
            return None
        return self.instance_usd_per_hour + self.file_system_usd_per_hour

    @property
    def file_system_usd_a_day(self) -> float | None:
        """What a file system that is kept goes on costing."""
        return None if self.file_system_usd_per_hour is None else round(24 * self.file_system_usd_per_hour, 2)
