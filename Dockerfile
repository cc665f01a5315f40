# polyqa serve on the CPU, with the shipped index ready inside.
#
#   docker build -t polyqa .
#   docker run --rm -p 127.0.0.1:8000:8000 -e POLYQA_TOKEN=… polyqa

FROM python:3.11-slim-bookworm AS build
# Debian keeps only the newest version of a package: a pinned one could not be had for long.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/polyqa
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY colbert_index colbert_index
COPY compiled compiled
COPY lessons lessons
COPY metrics metrics
COPY polyqa polyqa
COPY programs programs
COPY signatures signatures
ARG EXTRAS=serve,questions
ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH PIP_NO_CACHE_DIR=1 XDG_CACHE_HOME=/opt/cache
# torch is named first and pinned to an exact version: so pip takes the CPU build.
RUN mkdir -p "$XDG_CACHE_HOME" \
    && python -m venv /opt/venv \
    && pip install --disable-pip-version-check torch==2.13.0 -e ".[${EXTRAS}]" -c constraints.txt \
    && polyqa setup

FROM python:3.11-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 polyqa
COPY --from=build /opt/venv /opt/venv
COPY --from=build --chown=polyqa /opt/polyqa /opt/polyqa
COPY --from=build --chown=polyqa /opt/cache /opt/cache
RUN mkdir -p /data && chown -R polyqa /data
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 XDG_CACHE_HOME=/opt/cache
USER 10001
WORKDIR /home/polyqa
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
# The token comes from POLYQA_TOKEN: without one, the server refuses to listen for other machines.
CMD ["polyqa", "serve", "--host", "0.0.0.0", "--port", "8000"]
