import { newUuid } from '@gwk/core/ids/ids';
import { join } from 'node:path';
import pg from 'pg';
import {
  apiEnvironment,
  commandEnvironment,
  type GatewaySettings,
} from '../../support/gateway/gateway-settings.js';
import { runGwk } from '../../support/gateway/gwk-command.js';
import { Exposition } from '../../support/exposition.js';
import { pickPort } from '../../support/ports.js';
import { GWK, Program } from '../../support/program.js';
import { PRODUCTION } from '../shared/production.js';
import { listPids, startBenchServers, type BenchServers } from '../shared/servers.js';
import { benchSettings } from '../shared/settings.js';

export const ACCOUNT = 'main';
const RENEW_MS = 10_000;
const LEASE_SECONDS = 45;

/** The part of a gateway that the operator calls: a real `gwk api` on its own Postgres and Redis. */
export class BenchGateway {
  /** Holders that renew their lease no more. */
  readonly lostHolders = new Set<string>();
  readonly #pool: pg.Pool;
  readonly #renewals: NodeJS.Timeout;
  #tick = 0;

  private constructor(
    readonly servers: BenchServers,
    readonly settings: GatewaySettings,
    readonly api: Program,
    readonly ports: { internal: number; metrics: number },
  ) {
    this.#pool = new pg.Pool({ connectionString: servers.postgres.url, max: 2 });
    this.#renewals = setInterval(() => void this.#renew().catch(() => undefined), RENEW_MS / 10);
  }

  /** @param namespace of the Instances */
  static async start(namespace: string): Promise<BenchGateway> {
    const servers = await startBenchServers();
    const settings = await benchSettings(servers);
    await runGwk(['migrate'], commandEnvironment(settings));
    const ports = { port: await pickPort(), internalPort: await pickPort() };
    const metrics = await pickPort();
    const api = new Program({
      name: 'api',
      args: [GWK, 'api'],
      logFile: join(servers.folder, 'api.log'),
      supervised: false,
      env: { ...apiEnvironment(settings, ports), ...PRODUCTION, GWK_API_METRICS_PORT: String(metrics) },
      ready: async () => (await fetch(`http://127.0.0.1:${ports.port}/readyz`)).ok,
    });
    await api.start();
    const gateway = new BenchGateway(servers, settings, api, { internal: ports.internalPort, metrics });
    await gateway.query(
      'INSERT INTO accounts (id, name, max_instances, namespaces) VALUES ($1, $2, 100000, $3)',
      [newUuid(), ACCOUNT, [namespace]],
    );
    return gateway;
  }

  async stop(): Promise<void> {
    clearInterval(this.#renewals);
    await this.api.stop();
    await this.#pool.end();
    await this.servers.stop();
  }

  get internalUrl(): string {
    return `http://127.0.0.1:${this.ports.internal}`;
  }

  get pids(): Record<string, number | undefined> {
    const { postgres, redis } = this.servers;
    return { API: this.api.pid, Postgres: listPids(postgres)[0], Redis: listPids(redis)[0] };
  }

  metrics(): Promise<Exposition> {
    return Exposition.of(this.ports.metrics);
  }

  async query(sql: string, values: unknown[] = []): Promise<void> {
    await this.#pool.query(sql, values);
  }

  /** Inserts rows of connected instances, with the resource names and uids `n0`, `n1` and so on. */
  async insertConnected(count: number): Promise<void> {
    await this.query(
      `INSERT INTO instances (id, account_id, name, kind, environment, interactive_mode, resource_namespace, resource_name,
         resource_uid, resource_generation, state, state_changed_at, first_paired_at, command_key_sealed)
       SELECT gen_random_uuid(), a.id, 'n' || n, 'web', 'bench', 'native+text', a.namespaces[1], 'n' || n, 'n' || n, 1,
         'connected', now(), now(), ''
       FROM accounts a, generate_series(0, $1 - 1) n`,
      [count],
    );
    await this.query(
      `INSERT INTO instance_leases (instance_id, epoch, holder, pod, renewed_at, expires_at)
       SELECT id, 1, gen_random_uuid(), 'gwk-' || name, now(), now() + $1 * interval '1 second' FROM instances`,
      [LEASE_SECONDS],
    );
    await this.query('ANALYZE');
  }

  /** Toggles between connected and disconnected, as reports of an engine would. */
  async move(uid: string): Promise<string> {
    const { rows } = await this.#pool.query<{ state: string }>(
      `UPDATE instances SET state_changed_at = now(),
         state = CASE state WHEN 'connected' THEN 'disconnected' ELSE 'connected' END
       WHERE resource_uid = $1 RETURNING state`,
      [uid],
    );
    return rows[0]!.state;
  }

  /**
   * Writes the rows that renewals of all engines would write, a tenth each second. It does not make their calls, which
   * cost the API the same with any operator: `make bench-density` measures them.
   */
  async #renew(): Promise<void> {
    this.#tick = (this.#tick + 1) % 10;
    await this.query(
      `UPDATE instance_leases SET renewed_at = now(), expires_at = now() + $1 * interval '1 second'
       WHERE holder IS NOT NULL AND abs(hashtext(pod)) % 10 = $2 AND holder <> ALL ($3::uuid[])`,
      [LEASE_SECONDS, this.#tick, [...this.lostHolders]],
    );
  }
}
