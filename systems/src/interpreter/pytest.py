class _Raises:
    def __init__(self, expected, match):
        self.expected = expected
        self.match = match
        self.value = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if value is None:
            raise AssertionError(f'DID NOT RAISE {self.expected}')
        self.value = value
        if not isinstance(value, self.expected):
            return False
        if self.match is not None:
            import re
            if re.search(self.match, str(value)) is None:
                raise AssertionError(f'Regex pattern did not match: {self.match!r} in {str(value)!r}')
        return True


class _Approx:
    def __init__(self, expected, rel, abs):
        self.expected = expected
        self.rel = rel
        self.abs = abs

    def __eq__(self, actual):
        if isinstance(self.expected, (list, tuple)):
            if len(self.expected) != len(actual):
                return False
            return all([self.near(a, e) for a, e in zip(actual, self.expected)])
        return self.near(actual, self.expected)

    def near(self, actual, expected):
        difference = actual - expected
        size = expected
        if difference < 0:
            difference = -difference
        if size < 0:
            size = -size
        return difference <= max(self.rel * size, self.abs)

    def __repr__(self):
        return f'approx({self.expected!r})'


class _Mark:
    def skip(self, function=None, reason=''):
        if function is None or isinstance(function, str):
            return lambda f: (lambda: skip(function or reason))
        return lambda: skip(reason)

    def skipif(self, condition, reason=''):
        if condition:
            return lambda f: (lambda: skip(reason))
        return lambda f: f

    def parametrize(self, names, cases, ids=None):
        single = isinstance(names, str) and ',' not in names

        def decorate(f):
            def run():
                for case in cases:
                    if single:
                        f(case)
                    else:
                        f(*case)
            return run
        return decorate


mark = _Mark()


def raises(expected, match=None):
    return _Raises(expected, match)


def approx(expected, rel=1e-6, abs=1e-12):
    return _Approx(expected, rel, abs)


def fail(reason=''):
    raise AssertionError(reason)


def skip(reason=''):
    raise RuntimeError('<pytest.skip>' + str(reason))
