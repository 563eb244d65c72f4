import { request } from 'node:http';
import { fromPublicId } from '@gwk/core/ids/ids';
import pg from 'pg';
import { testPhone } from '../../support/gateway/traffic.js';
import { residentMemory } from '../../support/processes.js';
import { percentile } from '../../bench/shared/statistics.js';
import type { CrowdStage } from './stage.js';

const SENDS_PER_SECOND = 25;
const CHATS = 500;
const LOOK_EVERY_MS = 500;
/** `timeoutSeconds` of the chart's probes. */
const PROBE_TIMEOUT_MS = 3_000;

/** Service that other clients and the kubelet get during a crowd. */
export interface Service {
  sends: number;
  p50: number;
  p99: number;
  /** Sends with another answer than 202. */
  failedSends: number;
  failedProbes: string[];
  /** Resident memory of the API in MB. */
  before: number;
  peak: number;
  /** Processes that ended, and leases that an engine lost. */
  restarts: string[];
}

/** Sends at a steady rate and probes all programs until it ends. A latency counts from the time a send was due. */
export class Monitor {
  readonly #timers: NodeJS.Timeout[];
  readonly #pending = new Set<Promise<void>>();
  readonly #latencies: number[] = [];
  readonly #failedProbes: string[] = [];
  readonly #memory: number[] = [];
  readonly #began = performance.now();
  #sent = 0;
  #failedSends = 0;

  private constructor(
    readonly name: string,
    readonly crowd: CrowdStage,
    readonly before: string[],
  ) {
    this.#look();
    this.#timers = [setInterval(() => this.#sendDue(), 5), setInterval(() => this.#look(), LOOK_EVERY_MS)];
  }

  static async start(name: string, crowd: CrowdStage): Promise<Monitor> {
    return new Monitor(name, crowd, await listRunning(crowd));
  }

  async end(): Promise<Service> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.#pending);
    const after = await listRunning(this.crowd);
    const megabytes = this.#memory.map((bytes) => Math.round(bytes / 1024 / 1024));
    return {
      sends: this.#latencies.length,
      p50: percentile(this.#latencies, 0.5),
      p99: percentile(this.#latencies, 0.99),
      failedSends: this.#failedSends,
      failedProbes: this.#failedProbes,
      before: megabytes[0]!,
      peak: Math.max(...megabytes),
      restarts: this.before.filter((running) => !after.includes(running)),
    };
  }

  #sendDue(): void {
    const elapsed = performance.now() - this.#began;
    while ((this.#sent * 1000) / SENDS_PER_SECOND <= elapsed) {
      this.#track(this.#send(this.#began + (this.#sent * 1000) / SENDS_PER_SECOND, this.#sent++));
    }
  }

  async #send(dueAt: number, number: number): Promise<void> {
    const { customer, instance } = this.crowd.stage;
    const sent = customer.client.sendText(
      instance.id,
      testPhone(number % CHATS),
      `${this.name}, number ${number}`,
    );
    const status = await sent.then((answer) => answer.status).catch(() => 0);
    this.#latencies.push(performance.now() - dueAt);
    if (status !== 202) this.#failedSends++;
  }

  #look(): void {
    const { gateway } = this.crowd.stage;
    this.#memory.push(residentMemory(gateway.apis[0]!.pid!));
    const ports = {
      api: this.crowd.ports.metrics,
      worker: Number(gateway.workers[0]!.options.env['GWK_WORKER_PORT']),
      operator: gateway.settings.operatorPort,
      engine: gateway.enginePorts()[0]!.port,
    };
    for (const [program, port] of Object.entries(ports)) {
      for (const path of ['/livez', '/readyz']) this.#track(this.#probe(program, port, path));
    }
  }

  async #probe(program: string, port: number, path: string): Promise<void> {
    const status = await probe(port, path);
    if (status !== '200') this.#failedProbes.push(`${program} ${path}: ${status}`);
  }

  #track(work: Promise<void>): void {
    this.#pending.add(work);
    void work.finally(() => this.#pending.delete(work));
  }
}

function probe(port: number, path: string): Promise<string> {
  return new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume().on('end', () => resolve(String(response.statusCode)));
    });
    call.setTimeout(PROBE_TIMEOUT_MS, () => call.destroy(new Error('timeout')));
    call.on('error', ({ message }) => resolve(message));
    call.end();
  });
}

/** Programs, engines and the lease. A lease that was lost and taken again has another epoch. */
async function listRunning({ stage: { gateway, instance } }: CrowdStage): Promise<string[]> {
  const client = new pg.Client({ connectionString: gateway.settings.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ epoch: number; holder: string }>(
      'SELECT epoch, holder FROM instance_leases WHERE instance_id = $1 AND expires_at > now()',
      [fromPublicId('instance', instance.id)],
    );
    return [
      ...gateway.programs.map(({ name, pid }) => `${name} ${pid}`),
      ...gateway.engines().map(({ pid }) => `engine ${pid}`),
      ...rows.map(({ epoch, holder }) => `lease ${epoch} of ${holder}`),
    ];
  } finally {
    await client.end();
  }
}
