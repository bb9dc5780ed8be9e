import base64

from awscrt import checksums
from hypothesis import given
from hypothesis import strategies as st

from belay.aws import crc64nvme


def test_the_published_check_value_comes_out() -> None:
    assert base64.b64decode(crc64nvme.of(b"123456789")).hex() == "ae8b14860a799888"


@given(st.binary(max_size=300))
def test_it_is_the_checksum_that_s3_computes(body: bytes) -> None:
    assert base64.b64decode(crc64nvme.of(body)) == checksums.crc64nvme(body).to_bytes(8, "big")
