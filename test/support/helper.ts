import { spawn, type ChildProcess } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { baseEnvironment, ROOT } from './program.js';

/**
 * A program of the test support in a process apart: what it counts survives nothing of ours and is shared with nothing
 * of ours. It prints the port of its HTTP listener, and ends when its standard input closes.
 */
export class Helper {
  readonly #child: ChildProcess | undefined;

  private constructor(
    readonly url: string,
    child?: ChildProcess,
  ) {
    this.#child = child;
  }

  /** One that another process has started, and ends. */
  static at(url: string): Helper {
    return new Helper(url);
  }

  /** `program`: path of a file below test/support, without extension. Built JavaScript is what runs. */
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

  /** A call of the control routes. */
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
