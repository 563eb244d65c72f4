import { operatorSettings } from '@gwk/core/config/operator';
import { loadConfig } from '@gwk/core/config/load';
import { onShutdown } from '@gwk/core/process/lifecycle';
import { startOperator } from '@gwk/operator/program';
import { FAKE_ENGINE } from './folder.js';

/** `gwk operator` with fake engines, as a process that tests may kill. */
const config = loadConfig(operatorSettings, process.env);
const operator = await startOperator(config, {
  engineCommand: FAKE_ENGINE,
  graceMs: 800,
  leaseTimeoutMs: 4000,
  callTimeoutMs: 400,
  backoff: { firstMs: 50, maxMs: 800, random: Math.random },
});
onShutdown(() => operator.stop(), { exitWithParent: config.exitWithParent });
