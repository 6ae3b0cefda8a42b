"""What is told of an exception: what went wrong, not where, and not what was handed over."""

from __future__ import annotations

from hotloop.uttered import of_exception, of_stderr

KERAS = """\
ValueError: in user code:

    File "/home/user/train.py", line 85, in train_step  *
        loss = loss_of(model(x, training=True))

    ValueError: Exception encountered when calling Net.call().

    \x1b[1mlen is not well defined for a symbolic Tensor.\x1b[0m

    Arguments received by Net.call():
      • inputs=tf.Tensor(shape=(32, 9), dtype=float32)
      • training=True"""
SAID = "ValueError: Exception encountered when calling Net.call(). len is not well defined for a symbolic Tensor."


def test_of_an_error_in_a_traced_function_the_inner_one_is_told() -> None:
    assert of_exception(KERAS) == SAID
    assert of_stderr(f'warming up\nTraceback (most recent call last):\n  File "a.py", line 1\n{KERAS}\n') == SAID


def test_of_several_tracebacks_the_last_is_told() -> None:
    first = "Traceback (most recent call last):\n  ...\nKeyError: 3\n"
    last = "Traceback (most recent call last):\n  ...\nmy.Oops: no such\nlabel\n"
    assert of_stderr(first + "\nDuring handling of the above exception, another occurred:\n\n" + last) == (
        "my.Oops: no such label"
    )


def test_a_program_that_prints_no_traceback_has_its_last_line() -> None:
    assert of_stderr("usage: train.py\nerror: no such file\n\n") == "error: no such file"
    assert of_stderr("") == ""


def test_an_exception_without_a_message_is_its_name_and_a_long_one_is_cut() -> None:
    assert of_exception("ValueError: ") == "ValueError"
    assert of_exception("ValueError: " + "1 " * 1000).endswith("1...")
    assert len(of_exception("ValueError: " + "1 " * 1000)) == 300
