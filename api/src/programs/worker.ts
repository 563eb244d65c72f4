import { ConfigError, loadConfig, type ConfigOf } from '@gwk/core/config/load';
import { workerSettings } from '@gwk/core/config/worker';
import { exitOnUncaughtError, onShutdown } from '@gwk/core/lifecycle';
import { createLogger, type Logger } from '@gwk/core/log';
import { parseEncryptionKeys, SealError } from '@gwk/core/encryption';
import { EXIT_CONFIGURATION, isListenError, isWrongSetting, readEnvironmentPolicy } from './startup.js';
import { startWorker } from './worker-loops.js';

/** `gwk worker`: webhook deliveries and periodic jobs. */
export async function runWorker(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(environment);
  const log = createLogger('worker', config.logLevel);
  exitOnUncaughtError(log);
  const stopping = new AbortController();
  const starting = startWorker(config, log, stopping.signal);
  onShutdown(
    async (cause) => {
      log.info({ cause }, 'stopping');
      stopping.abort();
      await (await starting.catch(() => undefined))?.stop();
      log.info('stopped');
    },
    { exitWithParent: config.exitWithParent },
  );
  try {
    const { port } = await starting;
    log.info({ port }, 'working');
  } catch (error) {
    if (!stopping.signal.aborted) cannotStart(error, log);
  }
}

function cannotStart(error: unknown, log: Logger): never {
  const expected = isWrongSetting(error) || isListenError(error);
  process.stderr.write(`gwk worker: ${expected ? (error as Error).message : 'cannot start'}\n`);
  if (!expected) log.error({ err: error }, 'cannot start');
  process.exit(isWrongSetting(error) ? EXIT_CONFIGURATION : 1);
}

function readConfig(environment: NodeJS.ProcessEnv): ConfigOf<typeof workerSettings> {
  try {
    const config = loadConfig(workerSettings, environment);
    parseEncryptionKeys(config.encryptionKeys);
    readEnvironmentPolicy('GWK_WORKER_POLICY', config.environmentPolicy);
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof SealError)) throw error;
    const name = error instanceof SealError ? 'GWK_ENCRYPTION_KEYS: ' : '';
    process.stderr.write(`gwk worker: ${name}${error.message}\n`);
    process.exit(EXIT_CONFIGURATION);
  }
}
