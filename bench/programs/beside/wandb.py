"""In place of the package of this name, which would send what it is told to a server."""


def init(**settings):
    pass


def log(values):
    pass
