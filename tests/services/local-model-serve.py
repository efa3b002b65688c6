"""Runs llama.cpp's own HTTP server in this process, on a loopback port it chooses, and prints where it listens.

usage: local-model-serve.py WEIGHTS ALIAS TEMPLATE THREADS
"""
import os
import signal
import sys

import xllamacpp

weights, alias, template, threads = sys.argv[1:]
p = xllamacpp.CommonParams()
p.model.path, p.model_alias = weights, {alias}
p.n_ctx, p.n_parallel, p.kv_unified = 8192, 2, True  # two requests at once share one context
p.n_predict = 1024  # a small model that wanders must end some time
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = int(threads)
p.hostnames, p.port = ["127.0.0.1"], 0
p.use_jinja, p.ui = True, False
with open(template) as f:
    p.chat_template = f.read()

server = xllamacpp.Server(p)
# One write, on a line of its own: the server's threads log to the same file.
os.write(1, f"\nready at {server.listening_address}\n".encode())
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
signal.pause()
