import { requireOrigin } from '@gwk/api/http/session-access';
import { apiSettings } from '@gwk/api/config/api';
import { loadConfig } from '@gwk/core/config/load';
import {
  CHART,
  find,
  helm,
  MINIMAL_VALUES,
  readEnvironment,
  render,
  withValues,
} from '../support/chart/render.js';
import { describeChart } from './suite.js';
import { INSTALLATIONS } from './values.js';

/** Where the console is served. */
const OWN_HOST = INSTALLATIONS['a console at a host of its own']!;
const PATHS = ['/', '/console', '/v1', '/problems'];

interface ApiDeployment {
  template: { spec: { containers: Parameters<typeof readEnvironment>[0][] } };
}

const settingsOf = (values: object, program = 'api') => {
  const { template } = find(render(values), 'Deployment', `gwk-${program}`)['spec'] as ApiDeployment;
  return readEnvironment(template.spec.containers[0]!);
};

const notes = (values: object) =>
  withValues({ ...MINIMAL_VALUES, ...values }, (file) =>
    helm('install', 'gwk', CHART, '--dry-run=client', '--namespace', 'messages', '--values', file),
  ).text;

describeChart('the console', () => {
  test('is at the host of the API, unless it is off or only a Service', () => {
    expect(settingsOf(MINIMAL_VALUES)).toMatchObject({
      GWK_API_CONSOLE: 'on',
      GWK_API_CONSOLE_ADMIN_MFA: 'on',
    });
    const lenient = settingsOf({ ...MINIMAL_VALUES, console: { adminMfa: false } });
    expect(lenient).toMatchObject({ GWK_API_CONSOLE_ADMIN_MFA: 'off' });
    expect(settingsOf(MINIMAL_VALUES)).toMatchObject({ GWK_API_PAIRING_PASSKEYS: 'off' });
    const passkeys = settingsOf({ ...MINIMAL_VALUES, pairing: { passkeys: true } });
    expect(passkeys).toMatchObject({ GWK_API_PAIRING_PASSKEYS: 'on' });
    const ingress = { enabled: true, hosts: ['api.example.com'] };
    expect(settingsOf({ ...MINIMAL_VALUES, ingress })).not.toHaveProperty('GWK_API_CONSOLE_URL');
    const off = settingsOf({ ...MINIMAL_VALUES, console: { enabled: false } });
    expect(off).toMatchObject({ GWK_API_CONSOLE: 'off' });
  });

  test('without a public address is where the port-forward of NOTES.txt leads', () => {
    const { GWK_API_CONSOLE_URL: url, GWK_API_BASE_URL: baseUrl } = settingsOf(MINIMAL_VALUES);
    const text = notes({});
    const [, port] = /port-forward svc\/gwk-api (\d+):80$/m.exec(text)!;
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect(text).toContain(`The console is at ${url}/console while that port-forward runs.`);
    const config = loadConfig(
      {
        baseUrl: apiSettings.baseUrl,
        consoleUrl: apiSettings.consoleUrl,
        origins: apiSettings.consoleOrigins,
      },
      { GWK_API_BASE_URL: baseUrl, GWK_API_CONSOLE_URL: url },
    );
    const settings = { ...config, consoleOrigins: config.origins };
    for (const origin of [url, `http://localhost:${port}`])
      expect(requireOrigin({ headers: { origin } } as never, settings)).toBe(origin);
  });

  test.each(['on', 'off', false])('is not turned off by its former setting (%s)', (value) => {
    const api = { settings: { GWK_API_CONSOLE: value } };
    expect(() => render({ ...MINIMAL_VALUES, api })).toThrow(
      'api.settings.GWK_API_CONSOLE is now console.enabled (true or false).',
    );
  });

  test('has a host of its own at the Ingress, with the paths that it calls', () => {
    const { rules } = find(render(OWN_HOST), 'Ingress', 'gwk-api')['spec'] as {
      rules: { host: string; http: { paths: { path: string }[] } }[];
    };
    expect(rules.map(({ host, http }) => [host, ...http.paths.map(({ path }) => path)])).toEqual([
      ['api.example.com', '/'],
      ['console.example.com', ...PATHS],
    ]);
    expect(settingsOf(OWN_HOST)).toMatchObject({
      GWK_API_BASE_URL: 'https://api.example.com',
      GWK_API_CONSOLE_URL: 'https://console.example.com',
    });
  });

  test('alerts of the worker lead to its address, unless it is off', () => {
    const links = (values: object) => settingsOf(values, 'worker')['GWK_WORKER_CONSOLE_URL'];
    expect(links(OWN_HOST)).toBe('https://console.example.com');
    const ingress = { enabled: true, hosts: ['api.example.com'] };
    expect(links({ ...MINIMAL_VALUES, ingress })).toBe('http://api.example.com');
    expect(links({ ...OWN_HOST, console: { enabled: false } })).toBeUndefined();
    // Nobody outside the cluster can open its Service.
    expect(links(MINIMAL_VALUES)).toBeUndefined();
  });

  test('has a route of its own for its host', () => {
    const { hostnames, rules } = find(render(OWN_HOST), 'HTTPRoute', 'gwk-console')['spec'] as {
      hostnames: string[];
      rules: { matches: { path: { value: string } }[]; backendRefs: { name: string }[] }[];
    };
    expect(hostnames).toEqual(['console.example.com']);
    expect(rules[0]!.matches.map(({ path }) => path.value)).toEqual(PATHS);
    expect(rules[0]!.backendRefs).toEqual([{ name: 'gwk-api', port: 80 }]);
  });

  test('NOTES.txt says where it is, and how its first person signs in', () => {
    const text = notes({ console: { host: 'console.example.com' } });
    expect(text).toContain('The console is at https://console.example.com/console.');
    expect(text).toContain('gwk user create you@example.com --account main --role owner');
    expect(text).toContain('gwk user handoff you@example.com');
    expect(notes({ console: { enabled: false } })).not.toContain('The console is at');
  });

  test('NOTES.txt tells a new installation how to pair a phone, with a key of few rights', () => {
    const text = notes({});
    expect(text).toContain('Helm installs gwk');
    expect(text).toContain('pair it: in the console, or by "gwk pair" (docs/pairing.md)');
    expect(text).not.toContain('--scopes all');
  });
});
