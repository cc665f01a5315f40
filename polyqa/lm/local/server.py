"""The process in which llama.cpp runs: it is run as a file, with settings on standard input.

It answers OpenAI's HTTP API on a free port of this machine, to those who know the key, until its standard input
closes: so it ends with the process that started it, however that ends.
"""

import json
import os
import signal
import sys


def main() -> None:
    """Load the model, print the address as one line of JSON, and serve until standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    settings = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # llama.cpp writes its log to both
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["name"]}
    params.api_keys = [settings["key"]]
    params.port = 0
    params.n_parallel = settings["slots"]
    params.cache_ram_mib = 0  # it would give a call without added weights what was read with them
    loras = []
    for path in settings["loras"]:
        added = xllamacpp.CommonAdapterLoraInfo()
        added.path, added.scale = path, 0.0
        loras.append(added)
    if loras:
        params.lora_adapters = loras
        params.n_parallel += 1  # the last slot is for calls with these weights
    params.n_batch = params.n_ubatch  # a call that was given up goes on for one batch
    params.n_ctx = params.n_parallel * settings["context"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.slot_save_path = settings["kept"]
    params.fit_params = params.ui = False
    server = xllamacpp.Server(params)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # llama.cpp has set its own
    print(json.dumps({"address": server.listening_address}), file=answers, flush=True)
    sys.stdin.read()
    os._exit(0)  # llama.cpp waits for calls that are under way; nobody waits for them any more


if __name__ == "__main__":
    main()
