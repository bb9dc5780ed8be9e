"""python -m examples.data.digits DEST: 1,797 handwritten digits of scikit-learn as an image folder, train and test."""

import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

_BRIGHTEST = 16


def write(destination: Path, *, of_each: int | None = None) -> None:
    """All of them; or, of each digit, the first few for training and the first few for testing."""
    pixels, labels = load_digits(return_X_y=True)
    images = (pixels.reshape(-1, 8, 8) * (255 / _BRIGHTEST)).astype(np.uint8)
    numbers = np.arange(len(images))
    train, test = train_test_split(numbers, test_size=0.2, random_state=0, stratify=labels)
    for split, members in (("train", train), ("test", test)):
        for digit in range(10):
            folder = destination / split / str(digit)
            folder.mkdir(parents=True, exist_ok=True)
            for number in members[labels[members] == digit][:of_each]:
                Image.fromarray(images[number]).save(folder / f"{number:04}.png")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
