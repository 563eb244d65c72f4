import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { pickPort } from '../support/ports.js';
import { baseEnvironment, Program } from '../support/program.js';
import { until } from '../support/wait.js';
import { neededPrograms } from '../support/prometheus/programs.js';

const SCRAPE_SECONDS = 1;

/** A real Prometheus server that scrapes given ports. It is not restarted when it dies. */
export class PrometheusServer {
  readonly #folder: string;
  readonly #port: number;
  #program: Program | undefined;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  /** Picks a port. The server runs after start(). */
  static async at(folder: string): Promise<PrometheusServer> {
    mkdirSync(folder, { recursive: true });
    return new PrometheusServer(folder, await pickPort());
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** @param ports local ports to scrape every second */
  async start(ports: readonly number[]): Promise<void> {
    const file = join(this.#folder, 'prometheus.yaml');
    const every = `${SCRAPE_SECONDS}s`;
    const targets = ports.map((port) => `127.0.0.1:${port}`);
    const job = { job_name: 'engines', static_configs: [{ targets }] };
    const global = { scrape_interval: every, scrape_timeout: every };
    writeFileSync(file, stringify({ global, scrape_configs: [job] }));
    this.#program = new Program({
      name: 'prometheus',
      command: neededPrograms().prometheus,
      args: [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(this.#folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${this.#port}`,
      ],
      env: baseEnvironment(),
      logFile: join(this.#folder, 'prometheus.log'),
      ready: async () => (await fetch(`${this.url}/-/ready`)).ok,
      supervised: false,
    });
    await this.#program.start();
  }

  kill(): Promise<void> {
    return this.#program!.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#program?.stop();
  }

  /** Waits until the first series of an expression has an accepted value, and returns it. */
  async value(expression: string, accepts: (value: number) => boolean): Promise<number> {
    const { value } = await until(
      async () => {
        const answer = await fetch(`${this.url}/api/v1/query?query=${encodeURIComponent(expression)}`);
        const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
        const value = Number(data.result[0]?.value[1] ?? Number.NaN);
        return accepts(value) && { value };
      },
      { what: `an accepted value of ${expression}`, everyMs: 100 },
    );
    return value;
  }
}
