import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildAlone } from '../build-lock.js';
import { pickPort } from '../ports.js';
import { baseEnvironment, type Environment } from '../program.js';
import { until } from '../wait.js';

/**
 * A real S3 server: versitygw over a folder, built once with Go; or the server named by TEST_S3_URL, TEST_S3_BUCKET,
 * TEST_S3_ACCESS_KEY and TEST_S3_SECRET_KEY.
 */
const VERSION = 'v1.8.0';
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gwk/versitygw', VERSION);
const BINARY = join(CACHE, 'versitygw');
const BUCKET = 'media';
const KEYS = { access: 'test-access', secret: 'test-secret-key' };

/** Without a server and without Go, the dependent tests are counted as skipped, except with CI=true. */
export const hasObjectStore =
  process.env['TEST_S3_URL'] !== undefined ||
  existsSync(BINARY) ||
  spawnSync('go', ['version']).status === 0 ||
  process.env['CI'] === 'true';

export const LEFT_OUT = 'a bucket (needs Go or a server in TEST_S3_URL)';

export class ObjectStore {
  private constructor(
    /** Settings that select this store. */
    readonly environment: Environment,
    readonly stop: () => Promise<void>,
  ) {}

  static async start(): Promise<ObjectStore> {
    const given = process.env['TEST_S3_URL'];
    if (given !== undefined) return new ObjectStore(settings(given, named()), async () => undefined);
    const binary = await buildAlone(`${CACHE}.lock`, build);
    const folder = mkdtempSync(join(tmpdir(), 'gwk-s3-'));
    mkdirSync(join(folder, BUCKET));
    const port = await pickPort();
    const child = spawn(
      binary,
      [
        '--access',
        KEYS.access,
        '--secret',
        KEYS.secret,
        '--port',
        `127.0.0.1:${port}`,
        '--quiet',
        // As buckets do.
        '--keep-alive',
        'posix',
        folder,
      ],
      { env: baseEnvironment(), stdio: 'ignore' },
    );
    const url = `http://127.0.0.1:${port}`;
    await until(() => answers(url), { what: 'the object store answers' });
    const all = { bucket: BUCKET, ...KEYS };
    return new ObjectStore(settings(url, all), async () => {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    });
  }
}

interface Named {
  bucket: string;
  access: string;
  secret: string;
}

function named(): Named {
  const value = (name: string): string => process.env[`TEST_S3_${name}`] ?? '';
  return { bucket: value('BUCKET'), access: value('ACCESS_KEY'), secret: value('SECRET_KEY') };
}

function settings(url: string, { bucket, access, secret }: Named): Environment {
  return {
    GWK_MEDIA_S3_URL: url,
    GWK_MEDIA_S3_BUCKET: bucket,
    GWK_MEDIA_S3_ACCESS_KEY: access,
    GWK_MEDIA_S3_SECRET_KEY: secret,
    GWK_MEDIA_S3_PATH_STYLE: 'on',
    GWK_MEDIA_S3_PREFIX: 'tests/',
  };
}

/** @throws Error with instructions if the build fails */
function build(): string {
  if (existsSync(BINARY)) return BINARY;
  mkdirSync(CACHE, { recursive: true });
  const env = { ...process.env, GOBIN: CACHE, GOFLAGS: '-mod=mod' };
  const module = `github.com/versity/versitygw/cmd/versitygw@${VERSION}`;
  const done = spawnSync('go', ['install', module], { env, encoding: 'utf8' });
  if (done.status !== 0) {
    throw new Error(
      `versitygw cannot be built (${done.error?.message ?? done.stderr.slice(-500)}). ` +
        'Install Go, or name an S3 server in TEST_S3_URL, TEST_S3_BUCKET, TEST_S3_ACCESS_KEY and TEST_S3_SECRET_KEY.',
    );
  }
  return BINARY;
}

async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url);
    return true;
  } catch {
    return false;
  }
}

function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}
