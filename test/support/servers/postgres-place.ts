import { startPostgres } from '@gwk/local/servers/postgres';
import type { RunningServer } from '@gwk/local/servers/process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { query } from './database.js';
import { neededPostgres } from './postgres-programs.js';

/** A server with a superuser, and a database `gwk` owned by the role `gwk`, which is not a superuser. */
export class PostgresPlace {
  readonly folder = mkdtempSync(join(tmpdir(), 'gwk-dump-'));
  readonly programs = neededPostgres();
  #server: RunningServer | undefined;

  async start(): Promise<void> {
    this.#server = await startPostgres({
      dataDir: join(this.folder, 'postgres'),
      logFile: join(this.folder, 'postgres.log'),
      password: 'test',
      sharedBuffersMb: 128,
      programs: this.programs,
      withoutSync: true,
    });
    await query(this.#server.url, `CREATE ROLE administrator SUPERUSER LOGIN PASSWORD 'test'`);
    await query(this.url('administrator', 'postgres'), 'ALTER ROLE gwk RENAME TO first_user');
    await query(this.url('administrator', 'postgres'), `CREATE ROLE gwk LOGIN PASSWORD 'test'`);
    await query(this.url('administrator', 'postgres'), 'CREATE DATABASE gwk OWNER gwk');
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  url(user: string, database: string): string {
    const url = new URL(this.#server!.url);
    url.username = user;
    url.pathname = `/${database}`;
    return url.href;
  }

  /**
   * Types commands into a shell, in a folder of their own.
   * @throws Error with what it said on the way, where it fails
   */
  async type(commands: string, more: NodeJS.ProcessEnv = {}): Promise<void> {
    const addresses = {
      DATABASE_URL: this.url('gwk', 'gwk'),
      ADMIN_URL: this.url('administrator', 'postgres'),
    };
    const env = { ...this.programs.env, ...addresses, ...more };
    const shell = spawn('sh', ['-e'], { cwd: this.folder, env });
    let said = '';
    for (const stream of [shell.stdout, shell.stderr])
      stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const closed = once(shell, 'close') as Promise<[number | null]>;
    shell.stdin.end(commands);
    const [status] = await closed;
    if (status !== 0) throw new Error(`${commands}\n${said}`);
  }
}
