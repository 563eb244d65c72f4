import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NetworkClient } from '@gwk/network/control/client';
import type { Whereabouts } from '@gwk/network/program';
import { baseEnvironment, GWK, Program, type Environment } from '../../support/program.js';
import { testPhone } from '../../support/gateway/traffic.js';

/** The simulated network in a separate process, with people on it. */
export class NetworkProcess {
  private constructor(
    readonly program: Program,
    readonly whereabouts: Whereabouts,
    readonly client: NetworkClient,
  ) {}

  static async start(folder: string): Promise<NetworkProcess> {
    const where = (): Whereabouts =>
      JSON.parse(readFileSync(join(folder, 'network.json'), 'utf8')) as Whereabouts;
    const ports = ['--port', '0', '--control-port', '0', '--media-port', '0'];
    const program = new Program({
      name: 'network',
      args: [GWK, 'network', 'start', '--folder', folder, '--forget', ...ports],
      env: { ...baseEnvironment(), GWK_EXIT_WITH_PARENT: 'on' },
      logFile: join(folder, 'network.log'),
      ready: async () => where().control !== '',
      supervised: false,
    });
    await program.start();
    return new NetworkProcess(program, where(), new NetworkClient(where().control));
  }

  /** Settings for an operator whose engines use this network. */
  get operatorSettings(): Environment {
    const { url, root, media_ca } = this.whereabouts;
    return {
      GWK_OPERATOR_NETWORK_URL: url,
      GWK_OPERATOR_NETWORK_ROOT: root,
      GWK_OPERATOR_NETWORK_CA: readFileSync(media_ca, 'utf8'),
    };
  }

  /** Adds recipients of the test traffic. They confirm messages and read nothing. */
  async contacts(count: number): Promise<void> {
    for (let index = 0; index < count; index++) await this.client.contact(testPhone(index));
  }

  /** Phone numbers with a connected device. */
  async connected(): Promise<Set<string>> {
    const accounts = await this.client.call('accounts', undefined);
    const here = accounts.filter(({ companions }) => companions.some(({ connected }) => connected));
    return new Set(here.map(({ number }) => number));
  }

  /**
   * Number of messages shown to contacts.
   * @throws Error if the network reports a violation
   */
  async checked(): Promise<number> {
    const { violations, fates } = await this.client.status();
    const bad = Object.entries(fates).filter(([fate, count]) => fate !== 'shown' && count > 0);
    if (violations.length > 0 || bad.length > 0)
      throw new Error(
        `the network reports violations: ${JSON.stringify({ violations: violations.slice(0, 3), bad })}`,
      );
    return fates['shown' as keyof typeof fates] ?? 0;
  }

  stop(): Promise<void> {
    return this.program.stop();
  }
}
