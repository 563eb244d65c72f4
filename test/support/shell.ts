import { spawn, type ChildProcess } from 'node:child_process';
import type { Environment } from './program.js';
import { realTime } from './wait.js';

/** Only a command that hangs reaches it. */
const TIMEOUT_MS = realTime(120_000);

/** An interactive shell. State that one command sets is visible to the next. */
export class Shell {
  readonly #child: ChildProcess;
  #output = '';
  #waiting: (() => void) | undefined;
  #ended = false;

  constructor(cwd: string, env: Environment) {
    this.#child = spawn('bash', [], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
    // One pipe for both streams, so that error output comes before the end marker.
    this.#child.stdin!.write('exec 2>&1\n');
    this.#child.stdout!.on('data', (chunk: Buffer) => {
      this.#output += chunk.toString('utf8');
      this.#waiting?.();
    });
    this.#child.on('exit', () => {
      this.#ended = true;
      this.#waiting?.();
    });
  }

  /**
   * @returns the output
   * @throws Error if the command fails or hangs
   */
  async type(command: string): Promise<string> {
    this.#output = '';
    const mark = `__end_${Math.random().toString(36).slice(2)}__`;
    this.#child.stdin!.write(`${command}\nprintf '\\n${mark} %s\\n' $?\n`);
    const end = new RegExp(`\\n${mark} (\\d+)\\n$`);
    const deadline = setTimeout(() => this.#child.kill('SIGKILL'), TIMEOUT_MS);
    while (!end.test(this.#output) && !this.#ended) {
      await new Promise<void>((resolve) => (this.#waiting = resolve));
    }
    clearTimeout(deadline);
    const code = end.exec(this.#output)?.[1];
    const printed = this.#output.replace(end, '');
    if (code !== '0') throw new Error(`${command}\nexited with ${code ?? 'no exit code'}:\n${printed}`);
    return printed;
  }

  close(): void {
    this.#child.stdin!.end();
    this.#child.kill('SIGKILL');
  }
}
