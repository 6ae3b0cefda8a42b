"""How large an image says it is, read from its first bytes: what would not fit into memory is never decoded."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Header:
    format: str
    width: int
    height: int


class ImageError(ValueError):
    """What is wrong with one image, as a sentence."""


def header(content: bytes) -> Header:
    """By its content: names lie."""
    format = _format(content)
    try:
        width, height = SIZES[format](content)
    except (struct.error, IndexError) as error:
        raise ImageError(f"the {format.upper()} header is cut off") from error
    if not width or not height:
        raise ImageError(f"the {format.upper()} header gives no size")
    return Header(format, width, height)


def _format(content: bytes) -> str:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    for magic, format in MAGIC.items():
        if content.startswith(magic):
            return format
    raise ImageError("not a JPEG, PNG, BMP, GIF or WebP image" if content else "the file is empty")


def first_frame(gif: bytes) -> bytes:
    """A GIF of one frame: TensorFlow would unpack every frame of an animation before it takes the first."""
    at = 13 + _colors(gif[10])
    try:
        while gif[at] == 0x21:  # an extension, such as the delay
            at = _after_blocks(gif, at + 2)
        if gif[at] != 0x2C:
            return gif
        return gif[: _after_blocks(gif, at + 11 + _colors(gif[at + 9]))] + b";"
    except IndexError as error:
        raise ImageError("the GIF is cut off") from error


def _after_blocks(gif: bytes, at: int) -> int:
    while gif[at]:
        at += gif[at] + 1
    return at + 1


def _colors(flags: int) -> int:
    """Bytes of the colour table that the flags announce."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _jpeg(content: bytes) -> tuple[int, int]:
    at = 2
    while True:
        if content[at] != 0xFF:
            raise ImageError("the JPEG header is damaged")
        marker = content[at + 1]
        if marker == 0xFF:  # filling
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # the start of a frame
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        if marker in (0xD9, 0xDA):
            raise ImageError("the JPEG header gives no size")
        alone = marker == 0x01 or 0xD0 <= marker <= 0xD8
        at += 2 if alone else 2 + struct.unpack_from(">H", content, at + 2)[0]


def _png(content: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", content, 16)
    return width, height


def _bmp(content: bytes) -> tuple[int, int]:
    """Pixels that are numbers of colours are refused: TensorFlow takes them for shades of grey."""
    pixels, own, width, height, _, bits = struct.unpack_from("<IIiiHH", content, 10)
    table = content[14 + own : min(pixels, 14 + own + 1024)]
    grey = all(table[at : at + 3] == bytes([at // 4]) * 3 for at in range(0, len(table), 4))
    if bits < 8 or (bits == 8 and not grey):
        raise ImageError("a BMP with a palette, which TensorFlow cannot read")
    return abs(width), abs(height)


def _gif(content: bytes) -> tuple[int, int]:
    """The screen, or the first frame where that is larger."""
    width, height = struct.unpack_from("<HH", content, 6)
    at = 13 + _colors(content[10])
    while content[at] == 0x21:
        at = _after_blocks(content, at + 2)
    if content[at] == 0x2C:
        wide, high = struct.unpack_from("<HH", content, at + 5)
        width, height = max(width, wide), max(height, high)
    return width, height


def _webp(content: bytes) -> tuple[int, int]:
    kind = content[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(content[24:27], "little"), 1 + int.from_bytes(content[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(content[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", content, 26)
    return width & 0x3FFF, height & 0x3FFF


SIZES: dict[str, Callable[[bytes], tuple[int, int]]] = {
    "jpeg": _jpeg,
    "png": _png,
    "bmp": _bmp,
    "gif": _gif,
    "webp": _webp,
}
MAGIC = {
    b"\xff\xd8\xff": "jpeg",
    b"\x89PNG\r\n\x1a\n": "png",
    b"BM": "bmp",
    b"GIF87a": "gif",
    b"GIF89a": "gif",
}
