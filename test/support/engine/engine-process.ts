import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { ENGINE_ENVIRONMENT } from '@gwk/core/engine-environment';
import { GWK } from '../program.js';
import { until as untilIs } from '../wait.js';

export interface EngineSettings {
  internalUrl: string;
  networkUrl?: string;
  ackTimeoutMs?: number;
  idleClaimMs?: number;
  /** Additional environment variables. */
  environment?: Record<string, string>;
  /** Arguments of node. */
  nodeArguments?: string[];
}

/** An engine as a separate process, which ends when the test process does. */
export class EngineProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  #log = '';

  constructor(settings: EngineSettings) {
    const { internalUrl, networkUrl, ackTimeoutMs = 20_000, idleClaimMs = 5_000 } = settings;
    const { nodeArguments = [], environment = {} } = settings;
    this.child = spawn(process.execPath, [...nodeArguments, GWK, 'engine'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        NODE_OPTIONS: process.env['ENGINE_NODE_OPTIONS'] ?? ENGINE_ENVIRONMENT.NODE_OPTIONS,
        GWK_EXIT_WITH_PARENT: 'on',
        GWK_ENGINE_INTERNAL_URL: internalUrl,
        GWK_ENGINE_TOKEN: 'a-token',
        GWK_ENGINE_POD: 'pod-1',
        GWK_ENGINE_HOST: '127.0.0.1',
        GWK_ENGINE_PORT: '0',
        GWK_ENGINE_ACK_TIMEOUT_MS: String(ackTimeoutMs),
        GWK_ENGINE_IDLE_CLAIM_MS: String(idleClaimMs),
        ...(networkUrl !== undefined && { GWK_ENGINE_SANDBOX_NETWORK: networkUrl }),
        ...environment,
      },
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
    }
    this.exited = once(this.child, 'exit').then(([code]) => code as number | null);
  }

  get log(): string {
    return this.#log;
  }

  /** Port of the probe listener. */
  get port(): number {
    return Number(/"port":(\d+)/.exec(this.#log)?.[1]);
  }

  /** Resident memory, in bytes. */
  get rss(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }
}

/** Waits until a condition holds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await untilIs(holds, { what, everyMs: 10 });
}
