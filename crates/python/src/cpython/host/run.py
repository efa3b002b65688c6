# A run of code, until it ends or cannot go on.


class Run:
    """A run: what is on record, what the code asked for, and what it was given of that."""

    def __init__(self, request, send):
        self.script, self.limits, self.record = request["script"], request["script"]["limits"], request["record"]
        self.awaited = {tuple(place) for place in request["awaited"]}
        self.send, self.most = send, request["most"]
        self.printed = Printed(self.limits["output_bytes"])
        self.made, self.new, self.new_bytes = [], [], 0
        self.given, self.known, self.waited_for = 0, {}, set()
        # What the code awaits, by the order in which it was asked for; and the time of its event loop.
        self.pending, self.order, self.now = {}, 0, 0.0

    # What is asked for.

    def function(self, name, awaited=False):
        def function(*args, **kwargs):
            waited = self.ask(name, args, kwargs)
            if not awaited:
                return self.settle(waited)
            self.order += 1
            return self.later(waited, self.order)

        function.__name__ = function.__qualname__ = name
        return function

    def ask(self, function, args, kwargs):
        """What the code waits for by this call: calls, and how it gets their values."""
        if function == "wait":
            (handle,) = take(function, ("agent",), 1, args, kwargs)
            if isinstance(handle, (list, tuple, set, frozenset)) and not is_handle(handle):
                numbers = [self.handle(item) for item in handle]
                self.waited_for.update(numbers)
                return numbers, list
            number = self.handle(handle)
            self.waited_for.add(number)
            return [number], lambda values: values[0]
        call = READ[function](args, kwargs)
        size = len(json.dumps(call, ensure_ascii=False, separators=(",", ":")).encode())
        if size > MAX_CALL_BYTES:
            raise ValueError(f"{function}() was given {size} bytes, more than {MAX_CALL_BYTES}: pass less text")
        number = self.call(call, size)
        if function == "fork":
            return [], lambda _: Agent(number)
        if function == "emit":
            return [], lambda _: None
        return [number], lambda values: values[0]

    def call(self, call, size):
        number, line = len(self.made), self.line()
        if number >= self.limits["calls"]:
            raise RuntimeError(
                f"this code made more than {self.limits['calls']} calls of fork, ask_user, emit and tool"
            )
        if number < len(self.record["calls"]):
            expected = self.record["calls"][number]
            # What is reported may tell the time.
            is_report = expected["call"] == call["call"] == "emit"
            if not is_report and canonical(expected) != canonical(call):
                self.diverge(number, line, expected, call)
        else:
            self.new_bytes += size
            if self.new_bytes > MAX_NEW_BYTES:
                raise RuntimeError(f"this code passed more than {MAX_NEW_BYTES} bytes without waiting")
            self.new.append({"call": call, "line": line})
        self.made.append(call["call"])
        return number

    @staticmethod
    def line():
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != FILE:
            frame = frame.f_back
        return frame and frame.f_lineno

    def handle(self, value):
        if not is_handle(value):
            raise TypeError(f"wait() takes what fork() returned, or a list of that, not {type_name(value)}")
        if value[0] >= len(self.made) or self.made[value[0]] != "fork":
            raise ValueError(f"wait(): this code forked no agent {value[0]}")
        return value[0]

    # What comes of it.

    def give(self):
        """Gives the code the next outcome on record: only where it cannot go on without."""
        outcomes = self.record["outcomes"]
        if self.given == len(outcomes):
            return False
        number, outcome = outcomes[self.given]
        self.known[number] = outcome
        self.given += 1
        return True

    def is_there(self, waited):
        return all(number in self.known for number in waited[0])

    def result(self, waited):
        values = []
        for number in waited[0]:
            outcome = self.known[number]
            if "failed" in outcome:
                raise RuntimeError(outcome["failed"])
            # A copy, so that code which changes a value does not change what it gets another time.
            values.append(json.loads(json.dumps(outcome["value"])))
        return waited[1](values)

    def missing(self, waited):
        return sorted({number for number in waited[0] if number not in self.known})

    def settle(self, waited):
        """What the code waits for in place, or the end of this process."""
        while not self.is_there(waited):
            if not self.give():
                self.block([self.missing(waited)], self.line())
        return self.result(waited)

    async def later(self, waited, order):
        import asyncio

        arrived = asyncio.get_running_loop().create_future()
        self.pending[order] = waited, arrived
        try:
            await arrived
        finally:
            self.pending.pop(order, None)
        return self.result(waited)

    def idle(self):
        """The event loop has nothing to do. Lets it go on with what is there, or ends. False if nothing is awaited."""
        pending = [self.pending[order] for order in sorted(self.pending)]
        pending = [(waited, arrived) for waited, arrived in pending if not arrived.done()]
        if not pending:
            return False
        while True:
            for waited, arrived in pending:
                if self.is_there(waited):
                    arrived.set_result(None)
                    return True
            if not self.give():
                self.block([self.missing(waited) for waited, _ in pending], None)

    # How a run ends.

    def diverge(self, number, line, expected, found, error=None):
        diverged = {"number": number, "line": line, "expected": expected, "found": found, "error": error}
        self.ran({"diverged": diverged})

    def left_out(self, line, counts, error=None):
        for number, call in enumerate(self.record["calls"][len(self.made) :], len(self.made)):
            if counts(call):
                self.diverge(number, line, call, None, error)

    def block(self, awaits, line):
        self.left_out(line, lambda _: True)
        # Code may wait for the same at many places.
        groups = list(dict.fromkeys(tuple(group) for group in awaits))
        self.ran({"blocked": {"calls": self.new, "awaits": groups}})

    def end(self, value=None, error=None, is_limit=False):
        if not is_limit:
            # What it reported may have told the time: it may report less than before.
            self.left_out(None, lambda call: call["call"] != "emit", error)
        truncated, limit = self.printed.truncated, self.limits["output_bytes"]
        if value is not None:
            truncated = truncated or len(value.encode("utf-8", "replace")) > limit
            value = head(value, limit)
        forks = (number for number, call in enumerate(self.made) if call == "fork")
        ended = {"stdout": self.printed.text(), "truncated": truncated, "value": value, "error": error}
        ended.update(calls=self.new, unawaited=[number for number in forks if number not in self.waited_for])
        self.ran({"ended": ended})

    def ran(self, progress):
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        self.send({"Ran": {"progress": progress, "spent": True}}, self.most)
        os._exit(0)

    def fail(self, error):
        kind, message = type(error), ""
        name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
        is_limit = isinstance(error, MemoryError)
        resource.setrlimit(resource.RLIMIT_DATA, (resource.getrlimit(resource.RLIMIT_DATA)[1],) * 2)
        frames, trace = Frames(), error.__traceback__
        while trace is not None:
            frames.add(trace.tb_frame.f_code, trace.tb_lineno)
            trace = trace.tb_next
        if is_limit:
            message = self.too_much()
        elif isinstance(error, SyntaxError) and error.filename == FILE:
            frames, message = Frames([(error.lineno or 1, None)]), str(error.msg)
        else:
            try:
                message = str(error)
            except BaseException:
                pass
        self.end(error=explained(self.script["code"], name, message, frames, hint(error, message)), is_limit=is_limit)

    def too_much(self):
        return f"the code's objects take more than {self.limits['memory_bytes']} bytes"

    def tick(self, _signal, frame):
        """Ends the process if the code used up its time or its memory, which it cannot catch.

        Memory that the system refuses is an error that the code may catch; but where nothing at all is left, CPython
        cannot even raise that. So code whose memory grows bit by bit meets this before.
        """
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > self.most_memory:
            self.stopped(frame, MemoryError(), self.too_much())
        elif time.process_time() > self.end_time:
            seconds = self.cpu()
            limit = f"{seconds:g}s" if seconds >= 1 else f"{seconds * 1000:g}ms"
            self.stopped(frame, TimeoutError(), f"the code computed for longer than {limit}")

    def stopped(self, frame, error, message):
        calls = []
        while frame is not None:
            calls.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        frames = Frames()
        while calls:
            frames.add(*calls.pop())
        kind = type(error).__name__
        self.end(error=explained(self.script["code"], kind, message, frames, hint(error, message)), is_limit=True)

    def cpu(self):
        return self.limits["cpu"]["secs"] + self.limits["cpu"]["nanos"] / 1e9

    def start(self):
        """Runs the code, and ends the process."""
        module = type(sys)("__main__")
        sys.modules["__main__"] = module
        names = vars(module)
        names["__builtins__"] = builtins
        for name in FUNCTIONS:
            names[name], names[AWAITED + name] = self.function(name), self.function(name, awaited=True)
        sys.stdout = sys.stderr = io.TextIOWrapper(self.printed, "utf-8", "replace", write_through=True)
        # Arguments that are asked for and never awaited are no mistake.
        warnings.filterwarnings("ignore", "coroutine .* was never awaited")
        sys.setrecursionlimit(max(1000, self.limits["recursion"] + 100))
        try:
            # From here on, what goes wrong is the code's.
            if "random" in self.script["code"]:
                import random

                # The same chance on each run.
                random.seed(self.script["code"])
            loop = self.loop() if "asyncio" in self.script["code"] or "await" in self.script["code"] else None
            self.end_time = time.process_time() + self.cpu()
            memory = self.limits["memory_bytes"] + SLACK_BYTES // 2
            self.most_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + (memory >> 10)
            signal.signal(signal.SIGPROF, self.tick)
            signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
            running = eval(self.compiled(), names)
            if running is not None:
                loop.run_until_complete(running)
            value = names.get(VALUE)
            value = None if value is None else repr(value)
        except SystemExit as error:
            if error.code not in (None, 0):
                self.fail(error)
            value = None
        except BaseException as error:
            self.fail(error)
        self.end(value)

    def compiled(self):
        tree = ast.parse(self.script["code"], FILE)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
                if (node.func.lineno, node.func.col_offset) in self.awaited:
                    node.func.id = AWAITED + node.func.id
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            target = ast.copy_location(ast.Name(VALUE, ast.Store()), last)
            tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        return compile(tree, FILE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)

    def loop(self):
        """An event loop that asks the engine where others wait for the system, and whose time passes only then."""
        import asyncio
        import selectors

        run = self

        class Idle(selectors.SelectSelector):
            def select(self, timeout=None):
                if timeout == 0 or run.idle():
                    return []
                if timeout is None:
                    raise RuntimeError("the code waits for something that never comes")
                run.now += max(timeout, 0)
                return []

        class Loop(asyncio.SelectorEventLoop):
            def __init__(self):
                super().__init__(Idle())

            def time(self):
                return run.now

        asyncio.new_event_loop = asyncio.events.new_event_loop = Loop
        loop = Loop()
        asyncio.set_event_loop(loop)
        return loop


