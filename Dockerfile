# Images of the programs: docker build --target api|worker|operator|engine.
# images/programs.js lists their contents, for `make images` too. images/archive.js has the same image configuration as
# this file; a test compares them.
ARG BASE=docker.io/library/node:24-bookworm

FROM ${BASE} AS build
WORKDIR /source
COPY . .
RUN make build && node_modules/.bin/node images/make.js --roots /roots api worker operator engine

FROM scratch AS runtime
COPY --from=build /roots/runtime /
USER 65532:65532
WORKDIR /app
ENV PATH=/usr/bin:/bin NODE_ENV=production
ENTRYPOINT ["/usr/bin/node", "/app/bin/gwk.js"]

FROM runtime AS worker
ARG VERSION=0.1.0
ARG REVISION=unknown
COPY --from=build /roots/worker /
EXPOSE 8082
CMD ["worker"]
LABEL org.opencontainers.image.title="gwk-worker" \
      org.opencontainers.image.description="gwk worker: webhooks, media, schedules and retention" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-only AND LGPL-3.0-or-later" \
      org.opencontainers.image.source="https://github.com/gwk-dev/gwk" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

FROM runtime AS operator
ARG VERSION=0.1.0
ARG REVISION=unknown
COPY --from=build /roots/operator /
EXPOSE 8083
CMD ["operator"]
LABEL org.opencontainers.image.title="gwk-operator" \
      org.opencontainers.image.description="gwk operator: runs an engine for each Instance resource; also gwk secrets" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/gwk-dev/gwk" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

FROM runtime AS engine
ARG VERSION=0.1.0
ARG REVISION=unknown
COPY --from=build /roots/engine /
EXPOSE 8084
CMD ["engine"]
LABEL org.opencontainers.image.title="gwk-engine" \
      org.opencontainers.image.description="gwk engine: connects one phone number" \
      org.opencontainers.image.licenses="GPL-3.0-only" \
      org.opencontainers.image.source="https://github.com/gwk-dev/gwk" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

FROM runtime AS api
ARG VERSION=0.1.0
ARG REVISION=unknown
COPY --from=build /roots/api /
EXPOSE 8080 8081 8085
CMD ["api"]
LABEL org.opencontainers.image.title="gwk-api" \
      org.opencontainers.image.description="gwk api: the HTTP API and the internal API; also gwk migrate, account, key and policy" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/gwk-dev/gwk" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
