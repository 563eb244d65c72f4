import { decideIncidents, type OpenIncident, type Trouble } from './decide.js';

const trouble = (kind: Trouble['kind']): Trouble => ({
  ...{ accountId: 'a', subject: 's', name: 'loja', since: new Date(0) },
  kind,
});
const open = (kind: Trouble['kind'], over = false): OpenIncident => ({ id: 'i', subject: 's', kind, over });
const kinds = (list: readonly { kind: string }[]) => list.map(({ kind }) => kind);

test.each<[string, Trouble['kind'] | null, OpenIncident | null, [string[], string[], string[]]]>([
  ['nothing', null, null, [[], [], []]],
  ['a new outage begins', 'down', null, [['down'], [], []]],
  ['an outage goes on', 'down', open('down'), [[], [], []]],
  ['an outage ends', null, open('down', true), [[], ['down'], []]],
  ['a number between two states keeps its incident', null, open('logged_out'), [[], [], []]],
  ['a logout replaces an outage', 'logged_out', open('down'), [['logged_out'], [], ['down']]],
  ['a ban replaces a logout', 'banned', open('logged_out'), [['banned'], [], ['logged_out']]],
  ['a number that connects after a logout is not down', 'down', open('logged_out'), [[], [], []]],
  [
    'a subject in trouble that is over at the same look ends first',
    'down',
    open('banned', true),
    [[], ['banned'], []],
  ],
  ['a disabled endpoint', 'webhook_disabled', null, [['webhook_disabled'], [], []]],
])('%s', (_case, now, known, expected) => {
  const { begin, end, replace } = decideIncidents(now ? [trouble(now)] : [], known ? [known] : []);
  expect([kinds(begin), kinds(end), kinds(replace)]).toEqual(expected);
});
