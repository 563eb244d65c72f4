import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_VERSION_SETTING } from '@gwk/core/client-version';
import { parse } from 'yaml';
import {
  CHART,
  find,
  listPodTemplates,
  MINIMAL_VALUES,
  readEnvironment,
  render,
  templateText,
} from '../support/chart/render.js';
import { describeChart } from './suite.js';

const VERSION = '2.3000.1044142122';

const environmentOf = (values: object, program: string) =>
  readEnvironment(
    listPodTemplates(render({ ...MINIMAL_VALUES, ...values })).get(`Deployment/gwk-${program}`)!.spec
      .containers[0]!,
  );

const profile = (clientVersion?: string) => ({ engine: { profiles: { eu: { clientVersion } } } });

test('the schema accepts the versions that programs accept', () => {
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as {
    $defs: { clientVersion: { pattern: string } };
  };
  expect(schema.$defs.clientVersion.pattern).toBe(CLIENT_VERSION_SETTING.source);
});

describeChart('clientVersion', () => {
  test.each([
    ['auto, by default', {}, 'auto', 'auto'],
    ['bundled', { clientVersion: 'bundled' }, 'bundled', 'bundled'],
    ['a version', { clientVersion: VERSION }, VERSION, 'bundled'],
    ['bundled, and auto in a profile', { clientVersion: 'bundled', ...profile('auto') }, 'bundled', 'auto'],
    ['auto, and bundled in a profile', profile('bundled'), 'auto', 'auto'],
    ['bundled, and a profile without it', { clientVersion: 'bundled', ...profile() }, 'bundled', 'bundled'],
  ])('%s: reaches engines, and workers read only if one follows it', (_, values, engines, workers) => {
    expect(environmentOf(values, 'operator')['GWK_OPERATOR_CLIENT_VERSION']).toBe(engines);
    expect(environmentOf(values, 'worker')['GWK_WORKER_CLIENT_VERSION']).toBe(workers);
  });

  test('of a profile is in the profile', () => {
    const { data } = find(
      render({ ...MINIMAL_VALUES, ...profile(VERSION) }),
      'ConfigMap',
      'gwk-operator-profiles',
    ) as unknown as { data: Record<string, string> };
    expect(parse(data['profiles.yaml']!)).toMatchObject({ eu: { clientVersion: VERSION } });
  });

  test.each([
    ['clientVersion', (clientVersion: unknown) => ({ clientVersion })],
    [
      'engine.profiles.eu.clientVersion',
      (clientVersion: unknown) => ({ engine: { profiles: { eu: { clientVersion } } } }),
    ],
  ])('%s: nonsense is refused, with its place and the accepted form', (path, build) => {
    const place = new RegExp(`${path.replaceAll('.', '[./]')}'?: .*auto\\|bundled`);
    for (const nonsense of ['latest', '2.3000.1', '2.3000.10441421220', `${VERSION} `, ''])
      expect(() => templateText({ ...MINIMAL_VALUES, ...build(nonsense) })).toThrow(place);
    expect(() => templateText({ ...MINIMAL_VALUES, ...build(2.3) })).toThrow(/want string/);
  });

  test('the address of the script can be another one', () => {
    const settings = { GWK_WORKER_CLIENT_VERSION_URL: 'https://mirror.example.com/sw.js' };
    expect(environmentOf({ worker: { settings } }, 'worker')).toMatchObject(settings);
  });
});
