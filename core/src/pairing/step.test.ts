import type { Condition, InstanceResource } from '../resources/manifest.js';
import type { PairingView } from '../resources/pairing-request.js';
import { at, NOW, resource } from '@gwk/test/support/operator/build';
import { decideStep, type Step } from './step.js';

function shop(
  conditions: Record<string, string>,
  more: Partial<InstanceResource['spec']> = {},
): InstanceResource {
  const list = Object.entries(conditions).map(([type, text]): Condition => {
    const [status, reason = '', message = ''] = text.split('/');
    return {
      type: type as Condition['type'],
      status: status as Condition['status'],
      reason,
      message,
      observedGeneration: 1,
      lastTransitionTime: at(NOW),
    };
  });
  return { ...resource(more), status: { conditions: list } };
}

const view = (special: Partial<PairingView> = {}): PairingView => ({
  request: 'mine',
  method: 'qr',
  code: '2@x',
  expiresAt: at(NOW + 15_000),
  error: null,
  ...special,
});

type Case = [
  sentence: string,
  instance: InstanceResource | null,
  view: PairingView | null,
  step: Partial<Step>,
];
const UNPAIRED = { Accepted: 'True/Accepted', Paired: 'False/NeverPaired' };

test.each<Case>([
  ['gives up without an Instance', null, null, { do: 'give-up' }],
  [
    'finishes once paired',
    shop({ Paired: 'True/Paired/Paired' }),
    null,
    { do: 'finish', say: 'shop is paired' },
  ],
  [
    'gives up on a rejection with its reason',
    shop({ Accepted: 'False/AccountNotAllowed/not from here', Paired: 'Unknown' }),
    null,
    { do: 'give-up', say: 'AccountNotAllowed: not from here' },
  ],
  ['gives up on a suspended Instance', shop(UNPAIRED, { suspended: true }), null, { do: 'give-up' }],
  [
    'waits for the operator without a status',
    resource(),
    null,
    { do: 'wait', say: 'Waiting for the operator' },
  ],
  [
    'waits for the engine with its reason',
    shop({ ...UNPAIRED, EngineRunning: 'False/Unschedulable/no capacity' }),
    null,
    { do: 'wait', say: 'Waiting for the engine (no capacity)' },
  ],
  ['ignores the code of another request', shop(UNPAIRED), view({ request: 'other' }), { do: 'wait' }],
  ['shows a code', shop(UNPAIRED), view(), { do: 'show', code: '2@x', seconds: 15 }],
  ['waits for the next code after one expired', shop(UNPAIRED), view({ code: null }), { do: 'wait' }],
  [
    'gives up on an ended session with its error',
    shop(UNPAIRED),
    view({ code: null, error: 'timeout' }),
    { do: 'give-up', say: 'The pairing ended: timeout' },
  ],
  [
    'names the page of the console for a passkey',
    shop(UNPAIRED),
    view({ code: null, passkey: { page: 'https://gwk.example.org/console/acc_1/numbers/ins_1/pairing' } }),
    {
      do: 'wait',
      say: 'The phone asks for its passkey. Open https://gwk.example.org/console/acc_1/numbers/ins_1/pairing in a browser and follow it',
    },
  ],
  [
    'names the HTTP interface for a passkey without a console',
    shop(UNPAIRED),
    view({ code: null, passkey: { page: null } }),
    {
      do: 'wait',
      say: 'The phone asks for its passkey. Answer through the HTTP interface (docs/pairing.md)',
    },
  ],
])('%s', (_, instance, shown, step) => {
  expect(decideStep({ now: NOW, instance, view: shown, request: 'mine' })).toMatchObject(step);
});
