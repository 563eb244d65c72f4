import { createLogger } from '@gwk/core/process/log';
import type { OperatorConfig, OperatorOptions, RunningOperator } from './options.js';

/** Runs `gwk operator` without its signal handling. Loads only the code of the configured cluster. */
export async function startOperator(
  config: OperatorConfig,
  options: OperatorOptions = {},
): Promise<RunningOperator> {
  const log = createLogger('operator', config.logLevel);
  if (config.cluster === 'kubernetes') {
    const { startOnKubernetes } = await import('./program-kubernetes.js');
    return startOnKubernetes(config, options, log);
  }
  const { startOnOneMachine } = await import('./program-local.js');
  return startOnOneMachine(config, options, log);
}
