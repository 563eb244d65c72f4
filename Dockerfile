# Images of the programs: docker build --target api|worker|decoder|operator|engine .
# All are Debian 13. Renovate renews their digests.
ARG NODE_IMAGE=docker.io/library/node:24-trixie@sha256:be40f6a87b9b22215ddb20da0a2320a5c6d583fe3ee3b0024d9fa4f05b40c8fd
ARG DEBIAN_IMAGE=docker.io/library/debian:13@sha256:34cd9e9fd437c0a095ec39cb2e73422c9f30821b0d0848ed74fd0d43bae4d958
# Debian's C and C++ libraries and certificate authorities; no shell and no package manager. Its user is 65532.
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian13:nonroot@sha256:54df941ed0d06a1bd95ef5e0ce391fd8d9f94b64782dc9a60062727849ee3f97

# Programs of the decoder: ffmpeg with few formats, and what limits it. Debian's own ffmpeg loads 210 libraries (230 MB).
FROM ${DEBIAN_IMAGE} AS programs
WORKDIR /build
COPY scripts/images/debian-src.sources /etc/apt/sources.list.d/
RUN apt-get update && apt-get install -y --no-install-recommends \
    dpkg-dev gcc libc6-dev libdav1d-dev libopus-dev libx264-dev libzimg-dev make nasm pkgconf util-linux \
    zlib1g-dev
RUN apt-get source --download-only ffmpeg
COPY scripts/images/build-ffmpeg scripts/images/copy-programs ./
RUN sh build-ffmpeg
RUN sh copy-programs /programs dash env ffmpeg setpriv

# npm reads the manifests of all workspaces.
FROM ${NODE_IMAGE} AS manifests
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY core/package.json core/
COPY api/package.json api/
COPY decoder/package.json decoder/
COPY operator/package.json operator/
COPY engine-pod/package.json engine-pod/
COPY local/package.json local/
COPY cli/package.json cli/
COPY console/package.json console/
COPY test/package.json test/
COPY test/network/package.json test/network/

FROM manifests AS build
RUN npm ci
COPY . .
RUN npm run prisma:generate && npm run build

# Own files of the programs. The images have no /usr/bin/env, so gwk names its interpreter.
FROM build AS files
RUN find api/dist core/dist decoder/dist engine-pod/dist operator/dist -type f ! -name '*.js' -delete
RUN find api/src -type f ! -name '*.sql' -delete
RUN sed -i '1s|.*|#!/usr/bin/node|' bin/gwk.js && mkdir links && ln -s /app/bin/gwk.js links/gwk

# Packages of the programs. npm puts a package into the folder of a workspace if tools need another version of it.
# Optional packages are tools of Prisma, and the native libraries of the decoder.
FROM manifests AS database-packages
RUN npm ci --omit=dev --omit=optional -w core -w api
RUN find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.?ts' \) -delete
RUN find node_modules/@prisma/client/runtime -type f ! -name 'client.*' ! -name '*fast_bg.postgresql.*' -delete

FROM manifests AS decoder-packages
RUN npm ci --omit=dev -w core -w decoder
RUN find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.?ts' \) -delete

FROM manifests AS operator-packages
RUN npm ci --omit=dev --omit=optional -w core -w operator
RUN find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.?ts' \) -delete

FROM manifests AS engine-packages
RUN npm ci --omit=dev --omit=optional -w core -w engine-pod
RUN find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.?ts' \) -delete

FROM ${RUNTIME_IMAGE} AS runtime
COPY --from=build /usr/local/bin/node /usr/bin/node
WORKDIR /app
COPY --from=files /app/links/ /usr/bin/
COPY --from=files /app/package.json /app/LICENSE /app/NOTICE /app/THIRD-PARTY.md ./
COPY --from=files /app/bin/gwk.js bin/gwk.js
COPY --from=files /app/core/package.json core/package.json
COPY --from=files /app/core/dist core/dist
USER 65532:65532
ENV PATH=/usr/bin:/bin NODE_ENV=production
ENTRYPOINT ["/usr/bin/node", "/app/bin/gwk.js"]

FROM runtime AS worker
ARG VERSION=0.1.0
ARG REVISION=unknown
COPY --from=database-packages /app/node_modules node_modules
COPY --from=database-packages /app/api/node_modules api/node_modules
COPY --from=files /app/api/package.json api/package.json
COPY --from=files /app/api/prisma/migrations api/prisma/migrations
COPY --from=files /app/api/src api/src
COPY --from=files /app/api/dist api/dist
EXPOSE 8082
CMD ["worker"]
LABEL org.opencontainers.image.title="gwk-worker" \
      org.opencontainers.image.description="gwk worker: webhooks, media, schedules and retention" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/gwk-dev/gwk" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

FROM runtime AS decoder
ARG VERSION=0.1.0
ARG REVISION=unknown
COPY --from=programs /programs/ /
# A shell sets the resource limits of the decoders.
COPY --from=programs /usr/bin/dash /bin/sh
COPY --from=decoder-packages /app/node_modules node_modules
COPY --from=files /app/decoder/package.json decoder/package.json
COPY --from=files /app/decoder/bin decoder/bin
COPY --from=files /app/decoder/dist decoder/dist
CMD ["decoder"]
LABEL org.opencontainers.image.title="gwk-decoder" \
      org.opencontainers.image.description="gwk decoder: decodes files of strangers, without secrets" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-2.0-or-later AND GPL-3.0-or-later AND LGPL-3.0-or-later" \
      org.opencontainers.image.source="https://github.com/gwk-dev/gwk" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

FROM runtime AS operator
ARG VERSION=0.1.0
ARG REVISION=unknown
COPY --from=operator-packages /app/node_modules node_modules
COPY --from=operator-packages /app/operator/node_modules operator/node_modules
COPY --from=files /app/operator/package.json operator/package.json
COPY --from=files /app/operator/dist operator/dist
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
COPY --from=engine-packages /app/node_modules node_modules
COPY --from=files /app/engine-pod/package.json engine-pod/package.json
COPY --from=files /app/engine-pod/dist engine-pod/dist
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
COPY --from=database-packages /app/node_modules node_modules
COPY --from=database-packages /app/api/node_modules api/node_modules
COPY --from=files /app/api/package.json api/package.json
COPY --from=files /app/api/prisma/migrations api/prisma/migrations
COPY --from=files /app/api/src api/src
COPY --from=files /app/api/dist api/dist
COPY --from=files /app/console/dist console/dist
EXPOSE 8080 8081 8085
CMD ["api"]
LABEL org.opencontainers.image.title="gwk-api" \
      org.opencontainers.image.description="gwk api: the HTTP API and the internal API; also gwk migrate, account, key and policy" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/gwk-dev/gwk" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
