import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decoderSettings } from '@gwk/core/config/decoder';
import { loadConfigOrExit } from '@gwk/core/config/load';
import { exitOnUncaughtError, onShutdown } from '@gwk/core/process/lifecycle';
import { createLogger } from '@gwk/core/process/log';
import { chooseIsolation } from './choose-isolation.js';
import { startDecoderServer } from './server.js';
import { PARENT_MODE } from '@gwk/core/decoder/job-folder';
import { removeLeftBehind } from '@gwk/core/decoder/left-behind';
import { findUsableFfmpeg } from './usable-ffmpeg.js';

const EXIT_CONFIGURATION = 2;
const PREFIX = 'gwk-decoder-';
const FFMPEG_SETTING = 'GWK_DECODER_FFMPEG; with the chart, GWK_WORKER_FFMPEG in worker.settings';

/** `gwk decoder`: runs the jobs of a worker, without a secret and without connections. */
export async function runDecoder(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = loadConfigOrExit('decoder', decoderSettings, environment, EXIT_CONFIGURATION);
  const log = createLogger('decoder', config.logLevel);
  exitOnUncaughtError(log);
  await removeLeftBehind(PREFIX);
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  await chmod(folder, PARENT_MODE.decoder);
  const stopped = new AbortController();
  onShutdown(async () => {
    // Jobs end with their connections, and the worker prepares their messages again. A job without its file would refuse it.
    stopped.abort();
    await rm(folder, { recursive: true, force: true });
  }, config);
  const ffmpeg = await findUsableFfmpeg(config.ffmpeg, FFMPEG_SETTING, log);
  const isolation = await chooseIsolation(ffmpeg, folder, log);
  const server = await startDecoderServer({ socket: config.socket, folder, ffmpeg, isolation, log });
  stopped.signal.addEventListener('abort', () => server.close().closeAllConnections());
  log.info({ socket: config.socket }, 'decoding');
}
