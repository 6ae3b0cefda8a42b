"""What the functions of an input pipeline do, in the words that rules about input share."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hotloop.source.module import Scope
from hotloop.source.project import Project
from hotloop.source.work import Work, work_of

# Work of milliseconds an element, the same each time.
DECODES = re.compile(
    r"^tf\.(io|image|audio)\.decode_(?!raw|csv|base64|compressed|proto|json)|^tf\.image\.(resize|decode|pad_to|adjust)"
    r"|^tf\.signal\.|^tfio\.|^keras\.(utils|preprocessing\.image)\.(load_img|img_to_array)|^keras\.ops\.image\.resize"
    r"|^(cv2|PIL|imageio|skimage|librosa|soundfile|nibabel|pydicom|scipy\.(io|ndimage|signal))\b"
)
READS = re.compile(
    r"^tf\.(read_file|io\.read_file|io\.gfile\.GFile)|^np\.(load|loadtxt|genfromtxt|fromfile)$|imread|^PIL\.Image\.open"
    r"|^(librosa|soundfile|imageio|nibabel|pydicom|h5py|pd|pandas|requests|urllib)\b.*(load|read|open|File|get)|^open$"
)
# Names by which one knows that a function gives something else each time.
RANDOM = re.compile(
    r"^tf\.random\.(?!set_seed|Generator$)|^tf\.image\.(stateless_)?(random_|sample_distorted)|^np\.random\."
    r"|^random\.|^keras\.layers\.(Random|GaussianNoise|Dropout|AutoContrast|MixUp|CutMix|RandAugment|AugMix)"
    r"|^keras\.random\.|^tf\.(random_|truncated_normal)|^keras_cv\.layers\.(Random|Rand|Aug|Mix|CutMix|Grid)"
    r"|^(albumentations|imgaug)"
)
RANDOM_WORDS = re.compile(r"random|augment|distort|jitter|mixup|mix_up|cutmix|noise|perturb|permut|sampl|dropout|aug\b")
# What TensorFlow holds state for, so that it will not run two elements at once of its own accord.
STATEFUL = re.compile(
    r"^tf\.random\.(?!stateless|set_seed|experimental\.stateless|split|fold_in)|^tf\.image\.random_"
    r"|^tf\.(random_|truncated_normal)|^keras\.layers\.(Random|TextVectorization|StringLookup|IntegerLookup|Hashing$)"
    r"|^tf\.lookup\..*\(\)\.lookup$|^tf\.image\.sample_distorted"
)


def of(function: Scope | None, project: Project) -> Work | None:
    """The work of a stage's function, where the project has it."""
    return work_of(function, project) if function is not None else None


def any_of(pattern: re.Pattern[str], names: Iterable[str]) -> str | None:
    """The first of the names that the pattern knows, in alphabetical order."""
    return next((name for name in sorted(names) if pattern.search(name)), None)


def is_random(work: Work) -> str | None:
    """What makes a function give something else each time: a name, or None."""
    return any_of(RANDOM, work.calls | work.python_calls)


def may_be_random(work: Work) -> bool:
    return is_random(work) is not None or any(RANDOM_WORDS.search(w.lower()) for w in work.words)


def may_keep_state(work: Work) -> bool:
    """Whether it calls something that is not known, or that holds or changes a state: `counter.assign_add(1)`."""
    return any(name.startswith("?") or "assign" in name or STATEFUL.search(name) for name in work.calls)


def is_expensive(work: Work) -> str | None:
    """What of it takes long: decoding, resizing, spectra; a name, or None."""
    return any_of(DECODES, work.calls | work.python_calls)
