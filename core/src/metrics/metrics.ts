import { API_METRICS } from './api.js';
import { ENGINE_METRICS } from './engine.js';
import { MESSAGE_METRICS } from './messages.js';
import type { Metric } from './metric.js';
import { KUBERNETES_METRICS, OPERATOR_METRICS } from './operator.js';
import { STORE_METRICS } from './stores.js';
import { WORKER_METRICS } from './worker.js';

/** All metrics, by the programs that export them. */
export const METRICS: Readonly<Record<string, readonly Metric[]>> = {
  '`gwk api`': Object.values(API_METRICS),
  '`gwk worker`': Object.values(WORKER_METRICS),
  '`gwk api` and `gwk worker`: messages': Object.values(MESSAGE_METRICS),
  '`gwk api` and `gwk worker`: Postgres, Redis and files': Object.values(STORE_METRICS),
  '`gwk engine`': Object.values(ENGINE_METRICS),
  '`gwk operator`': Object.values(OPERATOR_METRICS),
  '`gwk operator` on Kubernetes': Object.values(KUBERNETES_METRICS),
};
