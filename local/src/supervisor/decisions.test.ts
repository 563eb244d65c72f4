import { ConfigError } from '@gwk/core/config/load';
import { countExitsInARow, getRestartDelay } from './component.js';
import { commandEnvironment, programEnvironment, type Wiring } from './environments.js';
import { listRequiredPorts } from './ports.js';
import { loadLocalConfig, type ProgramName } from './settings.js';

describe('restart delays', () => {
  test('grow from 1 s to 30 s', () => {
    expect([1, 2, 3, 4, 5, 6, 20].map(getRestartDelay)).toEqual([
      1000, 2000, 4000, 8000, 16000, 30000, 30000,
    ]);
  });

  test('start over after a minute of running', () => {
    expect(countExitsInARow(4, 59_999)).toBe(5);
    expect(countExitsInARow(4, 60_000)).toBe(1);
  });
});

const wiring = (env: Record<string, string> = {}): Wiring => ({
  config: loadLocalConfig(env),
  secrets: {
    encryptionKey: 'encryption-key',
    operatorToken: 'operator-token',
    clusterToken: 'cluster-token',
    postgresPassword: 'postgres-password',
    redisPassword: 'redis-password',
  },
  databaseUrl: 'postgresql://database',
  redisUrl: 'redis://redis',
  folder: '/local',
  media: '/media',
});

describe('environments', () => {
  const user = {
    PATH: '/bin',
    AWS_SECRET_ACCESS_KEY: 'of the user',
    DATABASE_URL: 'of the user',
    GWK_LOCAL_API_PORT: '9000',
    GWK_API_REQUESTS_PER_MINUTE: '5',
    GWK_API_HOST: '0.0.0.0',
    GWK_WORKER_WEBHOOK_TIMEOUT_MS: '7',
    GWK_LOG_LEVEL: 'debug',
  };

  test('give the operator and its engines no database, Redis or encryption key', () => {
    const env = programEnvironment('operator', wiring(), user);
    expect(Object.keys(env).filter((name) => !name.startsWith('GWK_OPERATOR_'))).toEqual([
      'PATH',
      'NODE_ENV',
      'GWK_LOG_LEVEL',
      'GWK_EXIT_WITH_PARENT',
    ]);
  });

  test('give operator and worker the addresses of a simulated network', () => {
    const network = {
      url: 'ws://127.0.0.1:8090/ws/chat',
      root: 'ab',
      media_ca: '/ca.pem',
      web_client: 'http://127.0.0.1:8090/sw.js',
    };
    expect(programEnvironment('operator', { ...wiring(), network }, user)).toMatchObject({
      GWK_OPERATOR_NETWORK_URL: network.url,
      GWK_OPERATOR_NETWORK_ROOT: network.root,
      GWK_OPERATOR_NETWORK_CA_FILE: network.media_ca,
    });
    expect(programEnvironment('worker', { ...wiring(), network }, user)).toMatchObject({
      GWK_WORKER_CLIENT_VERSION_URL: network.web_client,
    });
  });

  test('give each program only its own settings, and never a public address', () => {
    const api = programEnvironment('api', wiring(), user);
    expect(api).toMatchObject({
      GWK_API_REQUESTS_PER_MINUTE: '5',
      GWK_API_HOST: '127.0.0.1',
      GWK_LOG_LEVEL: 'debug',
    });
    expect(Object.keys(api)).not.toContain('GWK_WORKER_WEBHOOK_TIMEOUT_MS');
    const worker = programEnvironment('worker', wiring(), user);
    expect(worker).toMatchObject({ GWK_WORKER_WEBHOOK_TIMEOUT_MS: '7', GWK_WORKER_HOST: '127.0.0.1' });
    expect(Object.values({ ...api, ...worker })).not.toContain('of the user');
  });

  test('give the trace collector to all, and Prometheus to the worker only', () => {
    const seen = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
      PROMETHEUS_URL: 'http://127.0.0.1:9090',
    };
    const received = (name: ProgramName) =>
      Object.keys(programEnvironment(name, wiring(), { ...user, ...seen })).filter((each) => each in seen);
    expect(received('api')).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT']);
    expect(received('operator')).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT']);
    expect(received('worker')).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT', 'PROMETHEUS_URL']);
  });

  test('give commands the database and the encryption key', () => {
    expect(commandEnvironment(wiring(), user)).toEqual({
      PATH: '/bin',
      NODE_ENV: 'production',
      DATABASE_URL: 'postgresql://database',
      GWK_ENCRYPTION_KEYS: 'encryption-key',
      GWK_API_BASE_URL: 'http://127.0.0.1:8080',
    });
  });

  test('reject an unknown setting of make run', () => {
    expect(() => loadLocalConfig({ GWK_LOCAL_API_PROT: '9000' })).toThrow(ConfigError);
    expect(() => loadLocalConfig({ GWK_LOCAL_API_PORT: 'many' })).toThrow(/GWK_LOCAL_API_PORT/);
  });
});

test('requires the ports of a simulated network only if it runs', () => {
  const needed = (env: Record<string, string>) =>
    listRequiredPorts(loadLocalConfig(env)).filter((name) => name.startsWith('network'));
  expect(needed({})).toEqual([]);
  expect(needed({ NETWORK: 'simulated' })).toEqual(['networkPort', 'networkControlPort', 'networkMediaPort']);
  expect(() => needed({ NETWORK: 'unknown' })).toThrow(ConfigError);
});
