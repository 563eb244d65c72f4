import { readFileSync } from 'node:fs';
import { NetworkClient } from '@gwk/network/control/client';
import { startNetwork } from '@gwk/network/start';
import { Gateway } from '../support/gateway/gateway.js';
import { commandEnvironment, type GatewaySettings } from '../support/gateway/gateway-settings.js';
import { runGwkJson } from '../support/gateway/gwk-command.js';
import { Network } from '../support/gateway/network.js';
import { Receiver } from '../support/gateway/receiver.js';
import { networkEnvironment } from '../support/instance/stage.js';
import { readEnvironment, isRunning, listProcesses, type ProcessInfo } from '../support/processes.js';
import { endWithWorker } from '../support/shared.js';

/** The gateway shared by all files of test/smoke: two API processes, a worker and an operator. */
const VARIABLE = 'TEST_SMOKE_GATEWAY';

interface Description {
  settings: GatewaySettings;
  urls: string[];
  programs: { name: string; pid: number; logFile: string }[];
  /** Address of the webhook receiver. Each file has its own path there. */
  receiverUrl: string;
  /** Controls the network of paired instances. */
  controlUrl: string;
}

/** Starts the gateway for processes that this process starts later. It ends with the other shared servers. */
export async function startSharedGateway(): Promise<void> {
  const numbers = await startNetwork();
  endWithWorker(() => numbers.close());
  const receiver = await Receiver.start();
  endWithWorker(() => receiver.stop());
  const debug = { GWK_LOG_LEVEL: 'debug' };
  const gateway = await Gateway.start({
    apis: 2,
    settings: {
      // All test files use one client address.
      api: {
        ...debug,
        GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '1000000',
        // For the accounts that allow it.
        GWK_API_PAIRING_PASSKEYS: 'on',
      },
      worker: debug,
      operator: { ...debug, ...networkEnvironment(numbers, 'OPERATOR') },
    },
  });
  endWithWorker(() => gateway.stop());
  const description: Description = {
    settings: gateway.settings,
    urls: gateway.urls,
    programs: gateway.programs.map(({ name, pid, options: { logFile } }) => ({ name, pid: pid!, logFile })),
    receiverUrl: receiver.url(''),
    controlUrl: numbers.controlUrl,
  };
  process.env[VARIABLE] = JSON.stringify(description);
}

/**
 * Access to the shared gateway from any process. Tests must not stop a part of it, or change a setting of all of
 * it.
 */
export class SharedGateway {
  readonly isShared = true;
  readonly settings: GatewaySettings;
  /** The public addresses, one for each API process. */
  readonly urls: string[];
  /** The network of sandboxes. */
  readonly network: Network;
  /** The network of paired instances. */
  readonly numbers: NetworkClient;
  readonly receiver: Receiver;
  readonly #programs: Description['programs'];

  private constructor({ settings, urls, programs, receiverUrl, controlUrl }: Description) {
    this.settings = settings;
    this.urls = urls;
    this.network = Network.at(settings.networkUrl);
    this.numbers = new NetworkClient(controlUrl);
    this.receiver = Receiver.at(receiverUrl);
    this.#programs = programs;
  }

  static get(): SharedGateway {
    const given = process.env[VARIABLE];
    if (given === undefined) throw new Error(`${VARIABLE} is not set: only files of test/smoke have it`);
    return new SharedGateway(JSON.parse(given) as Description);
  }

  /** Runs a `gwk` command that prints JSON, against this gateway's database. */
  gwk<T>(...args: string[]): Promise<T> {
    return runGwkJson(args, commandEnvironment(this.settings));
  }

  /** The engine process of an instance (`ins_...`). */
  engine(instance: string): ProcessInfo | undefined {
    const operator = this.#programs.find(({ name }) => name === 'operator-0')!.pid;
    const pod = `ins-${instance.slice('ins_'.length)}-`;
    return listProcesses().find(({ pid, parent }) => parent === operator && podOf(pid)?.startsWith(pod));
  }

  /** Programs that have ended since the gateway was started. */
  ended(): string[] {
    return this.#programs.filter(({ pid }) => !isRunning(pid)).map(({ name }) => name);
  }

  /** All log lines of all processes, those of engines among the operator's. */
  logs(): { program: string; line: string }[] {
    return this.#programs.flatMap(({ name, logFile }) =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => ({ program: name, line })),
    );
  }
}

function podOf(pid: number): string | undefined {
  try {
    return readEnvironment(pid).get('GWK_ENGINE_POD');
  } catch {
    return undefined; // the process has ended meanwhile
  }
}
