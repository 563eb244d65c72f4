import { spawn, type ChildProcess } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { baseEnvironment, ROOT } from './program.js';

/**
 * A helper program in a separate process, so that its records are independent of the code under test. It prints the
 * port of its HTTP listener and exits when its standard input closes.
 */
export class Helper {
  readonly #child: ChildProcess | undefined;

  private constructor(
    readonly url: string,
    child?: ChildProcess,
  ) {
    this.#child = child;
  }

  /** Connects to a helper that another process started and stops. */
  static at(url: string): Helper {
    return new Helper(url);
  }

  /** @param program path below test/support without extension. The compiled JavaScript runs. */
  static async start(program: string): Promise<Helper> {
    const child = spawn(process.execPath, [join(ROOT, 'test/dist/support', `${program}.js`)], {
      cwd: ROOT,
      env: baseEnvironment(),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const port = await new Promise<number>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', (line) => resolve(Number(line)));
      child.once('exit', (code) => reject(new Error(`${program} ended at once (exit code ${code})`)));
      child.once('error', reject);
    });
    return new Helper(`http://127.0.0.1:${port}`, child);
  }

  /** Calls a control route. */
  async control<T>(path: string, body: unknown = {}): Promise<T> {
    const text = JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const call = request(`${this.url}/control/${path}`, { method: 'POST', agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString('utf8');
          if (response.statusCode === 200) resolve(JSON.parse(answer) as T);
          else reject(new Error(`${path}: ${response.statusCode} ${answer}`));
        });
      });
      call.on('error', reject);
      call.end(text);
    });
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.stdin!.end();
    const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(timer);
  }
}
