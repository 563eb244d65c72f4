import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { INSTANCES, LocalRest, manifest } from '@gwk/test/support/operator/local-rest';

let folder: ReturnType<typeof temporaryFolder>;
let rest: LocalRest;

beforeAll(async () => {
  folder = temporaryFolder();
  rest = await LocalRest.start(folder.path);
});

afterAll(async () => {
  await rest.stop();
  folder.remove();
});

type Refusal = [sentence: string, method: string, path: string, given: object, code: number, reason: string];
const apply = 'application/apply-patch+yaml';

test.each<Refusal>([
  ['no token', 'GET', INSTANCES, { token: '' }, 401, 'Unauthorized'],
  ['a wrong token', 'GET', INSTANCES, { token: 'x'.repeat(40) }, 401, 'Unauthorized'],
  ['an unknown resource', 'GET', `${INSTANCES}/nobody`, {}, 404, 'NotFound'],
  ['an unknown path', 'GET', '/apis/apps/v1/deployments', {}, 404, 'NotFound'],
  ['an unknown method', 'PUT', `${INSTANCES}/x`, { body: '{}' }, 405, 'MethodNotAllowed'],
  [
    'a wrong content type',
    'PATCH',
    `${INSTANCES}/x`,
    { body: '{}', type: 'text/plain' },
    415,
    'UnsupportedMediaType',
  ],
  ['an apply without a manager', 'PATCH', `${INSTANCES}/x`, { body: '{}', type: apply }, 400, 'BadRequest'],
  ['a malformed body', 'POST', INSTANCES, { body: '{"a": [', type: 'application/json' }, 400, 'BadRequest'],
  [
    'a body that is not an object',
    'POST',
    INSTANCES,
    { body: '[]', type: 'application/json' },
    400,
    'BadRequest',
  ],
  [
    'another name than the path',
    'PATCH',
    `${INSTANCES}/x?fieldManager=m`,
    { body: manifest('y'), type: apply },
    400,
    'BadRequest',
  ],
  [
    'another namespace than the path',
    'PATCH',
    `${INSTANCES}/x?fieldManager=m`,
    { body: manifest('x', undefined, { namespace: 'other' }), type: apply },
    400,
    'BadRequest',
  ],
  [
    'a missing account',
    'POST',
    INSTANCES,
    { body: manifest('x', {}), type: 'application/json' },
    422,
    'Invalid',
  ],
  [
    'an unknown field',
    'POST',
    INSTANCES,
    { body: manifest('x', { account: 'a', knd: 'web' }), type: 'application/json' },
    422,
    'Invalid',
  ],
  [
    'a bad value',
    'POST',
    INSTANCES,
    { body: manifest('x', { account: 'a', kind: 'fax' }), type: 'application/json' },
    422,
    'Invalid',
  ],
  [
    'a bad name',
    'POST',
    INSTANCES,
    { body: manifest('Not A Name'), type: 'application/json' },
    422,
    'Invalid',
  ],
  [
    'a body of two megabytes',
    'POST',
    INSTANCES,
    { body: `"${'x'.repeat(2_000_000)}"`, type: 'application/json' },
    413,
    'RequestEntityTooLarge',
  ],
  ['a path that is not well-formed', 'GET', `${INSTANCES}/%E0%A4%A`, {}, 400, 'BadRequest'],
  ['a bad status', 'PATCH', `${INSTANCES}/nobody/status`, { body: '{}' }, 404, 'NotFound'],
  ['an invalid selector', 'GET', `${INSTANCES}?labelSelector=a%20in%20(b)`, {}, 400, 'BadRequest'],
])('%s', async (...row) => {
  const [, method, path, given, code, reason] = row;
  const answer = await rest.call(method, path, given);
  expect([answer.code, answer.body]).toEqual([
    code,
    expect.objectContaining({ kind: 'Status', reason, code }),
  ]);
  expect((await rest.call('GET', INSTANCES)).code).toBe(200);
});

test('names every invalid field', async () => {
  const { body } = await rest.call('POST', INSTANCES, {
    body: manifest('x', { account: '', kind: 'fax', colour: 'red' }),
    type: 'application/json',
  });
  const { causes } = body['details'] as { causes: { field: string }[] };
  expect(causes.map(({ field }) => field).sort()).toEqual(['spec.account', 'spec.colour', 'spec.kind']);
});
