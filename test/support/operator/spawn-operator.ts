import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../program.js';
import { TOKEN } from './local-stage.js';

const PROGRAM = join(ROOT, 'test/dist/support/operator/operator-process.js');

interface OperatorPlace {
  /** Gets the state, `operator.log`, and the `history` of the fake engines. */
  folder: string;
  internalUrl: string;
  port: number;
}

/** Starts an operator with fake engines, which the test may kill. It exits with this process. */
export function spawnOperator({ folder, internalUrl, port }: OperatorPlace): ChildProcess {
  const log = openSync(join(folder, 'operator.log'), 'a');
  const child = spawn(process.execPath, [PROGRAM], {
    stdio: ['pipe', log, log],
    env: {
      PATH: process.env['PATH'],
      GWK_OPERATOR_TOKEN: 'x'.repeat(32),
      GWK_OPERATOR_INTERNAL_URL: internalUrl,
      GWK_OPERATOR_HOST: '127.0.0.1',
      GWK_OPERATOR_PORT: String(port),
      GWK_OPERATOR_LOCAL_FOLDER: folder,
      GWK_OPERATOR_LOCAL_TOKEN: TOKEN,
      GWK_EXIT_WITH_PARENT: 'on',
      FAKE_ENGINE_HISTORY: join(folder, 'history'),
      FAKE_ENGINE_SCOPE: folder,
    },
  });
  closeSync(log);
  return child;
}

export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}
