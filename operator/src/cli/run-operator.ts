import { setFlagsFromString } from 'node:v8';
import { loadConfigOrExit } from '@gwk/core/config/load';
import { operatorSettings } from '@gwk/core/config/operator';
import { exitOnUncaughtError, onShutdown } from '@gwk/core/process/lifecycle';
import { createLogger } from '@gwk/core/process/log';
import type { OperatorConfig, RunningOperator } from '../options.js';
import { startOperator } from '../program.js';

export async function runOperator(): Promise<void> {
  const config = loadConfigOrExit('operator', operatorSettings, process.env, 1);
  // On a machine with much memory, V8 lets garbage grow beyond the live objects before it collects.
  if (config.cluster === 'kubernetes')
    for (const flag of ['--semi-space-growth-factor=1', '--heap-growing-percent=25'])
      setFlagsFromString(flag);
  exitOnUncaughtError(createLogger('operator', config.logLevel));
  let running: RunningOperator | undefined;
  onShutdown(() => running?.stop(), { exitWithParent: config.exitWithParent });
  try {
    running = await startOperator(config);
  } catch (error) {
    process.stderr.write(`gwk operator: ${describeError(error as NodeJS.ErrnoException, config)}\n`);
    process.exit(1);
  }
}

function describeError({ code, message }: NodeJS.ErrnoException, { host, port }: OperatorConfig): string {
  if (code === 'EADDRINUSE') return `port ${port} is in use; stop the other process or set GWK_OPERATOR_PORT`;
  if (code === 'EADDRNOTAVAIL') return `${host} is not an address of this machine; set GWK_OPERATOR_HOST`;
  return message;
}
