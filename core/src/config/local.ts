import { setting, types } from './load.js';
import * as shared from './shared.js';

const port = (env: string, value: number, doc: string) =>
  setting(env, types.integer(1, 65535).default(value), doc);

/** Settings of `gwk local up` (`make run`). */
export const localSettings = {
  folder: setting(
    'GWK_LOCAL_FOLDER',
    types.text().default('.local'),
    'Folder for all data of the local gateway, relative to the root of the source tree. `gwk instances` and `gwk pair` find the gateway there.',
  ),
  apiPort: port('GWK_LOCAL_API_PORT', 8080, 'Port of the API.'),
  internalPort: port('GWK_LOCAL_INTERNAL_PORT', 8081, "Port of the API's internal listener."),
  workerPort: port('GWK_LOCAL_WORKER_PORT', 8082, "Port of the worker's health checks and metrics."),
  operatorPort: port(
    'GWK_LOCAL_OPERATOR_PORT',
    8083,
    'Port of the operator: Instance resources, health checks, metrics.',
  ),
  postgresPort: port('GWK_LOCAL_POSTGRES_PORT', 15432, 'Port of the local Postgres.'),
  redisPort: port('GWK_LOCAL_REDIS_PORT', 16379, 'Port of the local Redis.'),
  network: setting(
    'NETWORK',
    types.oneOf('real', 'simulated').default('real'),
    'Messaging network: `real`, or `simulated` to run one on this machine, with phones and contacts that `gwk network` controls.',
  ),
  networkPort: port('GWK_LOCAL_NETWORK_PORT', 8090, 'Port of the simulated network.'),
  networkControlPort: port(
    'GWK_LOCAL_NETWORK_CONTROL_PORT',
    8091,
    'Port that controls the phones and contacts of the simulated network.',
  ),
  networkMediaPort: port(
    'GWK_LOCAL_NETWORK_MEDIA_PORT',
    8092,
    'Port of the media hosts of the simulated network.',
  ),
  databaseUrl: {
    ...shared.databaseUrl,
    kind: shared.databaseUrl.kind.optional(),
    doc: 'Address of a Postgres to use instead of starting one.',
  },
  redisUrl: {
    ...shared.redisUrl,
    kind: shared.redisUrl.kind.optional(),
    doc: 'Address of a Redis to use instead of starting one.',
  },
};
