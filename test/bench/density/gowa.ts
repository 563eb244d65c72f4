import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pickPort } from '../../support/ports.js';
import { baseEnvironment } from '../../support/program.js';
import { until } from '../../support/wait.js';
import type { NetworkProcess } from '../engine/network.js';
import type { Subject } from './subject.js';
import { pointAt } from './whatsmeow-binary.js';

/**
 * GOWA (go-whatsapp-web-multidevice, MIT), a peer gateway in Go on whatsmeow. Its published program, with the network's
 * address and root overwritten. One process can serve many phone numbers.
 */
const START_LIMIT_MS = 60_000;

export interface GowaOptions {
  program: string;
  /** Runs one process per phone number. */
  apart: boolean;
}

export class Gowa implements Subject {
  readonly name = 'GOWA';
  readonly kind: string;
  readonly oneForAll: boolean;
  readonly #folder = mkdtempSync(join(tmpdir(), 'gwk-peer-'));
  readonly #program = join(this.#folder, 'gowa');
  readonly #processes: GowaProcess[] = [];
  readonly #phones: string[] = [];

  constructor(
    readonly network: NetworkProcess,
    readonly options: GowaOptions,
  ) {
    this.oneForAll = !options.apart;
    this.kind = options.apart ? 'one process per phone number' : 'one process for all';
    const { url, root } = network.whereabouts;
    writeFileSync(
      this.#program,
      pointAt(readFileSync(options.program), { url, root: Buffer.from(root, 'hex') }),
    );
    chmodSync(this.#program, 0o755);
  }

  async grow(count: number): Promise<void> {
    while (this.#phones.length < count) {
      const home = this.#processes.at(-1);
      const target = home !== undefined && this.oneForAll ? home : await this.#start();
      const number = this.#phoneOf(this.#phones.length);
      await this.#link(target, number);
      this.#phones.push(number);
    }
  }

  phones(): string[] {
    return this.#phones;
  }

  pids(): number[] {
    return this.#processes.map(({ child }) => child.pid!);
  }

  /** Calls the process of the first phone numbers. */
  call<T>(method: string, path: string, request: PeerRequest = {}): Promise<T> {
    return this.#processes[0]!.call<T>(method, path, request);
  }

  /** Kills the only process. Resolves when its successor has connected all phone numbers again. */
  async killAndRestart(): Promise<void> {
    await this.#processes.pop()!.kill();
    const process = await this.#start();
    for (const number of this.#phones) await untilConnected(process, number);
  }

  async stop(): Promise<void> {
    for (const process of this.#processes) await process.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #start(): Promise<GowaProcess> {
    const folder = join(this.#folder, String(this.#processes.length));
    mkdirSync(folder, { recursive: true });
    const process = await GowaProcess.start(this.#program, folder);
    this.#processes.push(process);
    return process;
  }

  #phoneOf(index: number): string {
    return `55119${String((this.oneForAll ? 30_000_000 : 40_000_000) + index)}`;
  }

  async #link(process: GowaProcess, number: string): Promise<void> {
    const phone = await this.network.client.phone(number, { name: `Peer ${number}` });
    await process.call('POST', '/devices', { body: { device_id: number } });
    const { pair_code } = await process.call<{ pair_code: string }>(
      'POST',
      `/devices/${number}/login/code?phone=${number}`,
    );
    await phone.types(pair_code);
    await untilConnected(process, number);
  }
}

function untilConnected(process: GowaProcess, number: string): Promise<unknown> {
  type Status = { is_connected: boolean; is_logged_in: boolean };
  return until(
    async () => {
      const status = await process.call<Status>('GET', `/devices/${number}/status`);
      return status.is_connected && status.is_logged_in;
    },
    { what: `phone number ${number} of the peer is connected`, everyMs: 200 },
  );
}

interface PeerRequest {
  body?: unknown;
  /** Phone number that the call concerns. */
  device?: string;
}

class GowaProcess {
  private constructor(
    readonly child: ChildProcess,
    readonly url: string,
    readonly log: () => string,
  ) {}

  static async start(program: string, folder: string): Promise<GowaProcess> {
    const port = await pickPort();
    // Otherwise it would download its web page from the internet.
    const env = {
      ...baseEnvironment(),
      APP_HOST: '127.0.0.1',
      APP_PORT: String(port),
      APP_UI_ENABLED: 'false',
    };
    const child = spawn(program, ['rest'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
    }
    const peer = new GowaProcess(child, `http://127.0.0.1:${port}`, () => said);
    try {
      await until(async () => (await fetch(`${peer.url}/devices`)).ok, {
        what: 'the peer responds',
        timeoutMs: START_LIMIT_MS,
        giveUp: () => (child.exitCode === null ? undefined : `the peer exited: ${said}`),
      });
      return peer;
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  async call<T>(method: string, path: string, { body, device }: PeerRequest = {}): Promise<T> {
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(device !== undefined && { 'x-device-id': device }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the peer: ${method} ${path}: ${answer.status} ${text}\n${this.log()}`);
    return (JSON.parse(text) as { results: T }).results;
  }

  async kill(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(timer);
  }
}
