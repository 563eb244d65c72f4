import type { Condition, InstanceResource } from '@gwk/core/resources/manifest';
import type { PairingView } from '@gwk/core/resources/pairing-request';
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
  ['no such Instance: nothing to wait for', null, null, { do: 'give-up' }],
  [
    'paired meanwhile: the end',
    {
      ...shop({ Paired: 'True/Paired/Paired as 1' }),
      status: { ...shop({ Paired: 'True' }).status!, phone: '1' },
    },
    null,
    { do: 'finish', say: 'shop is paired as 1' },
  ],
  [
    'refused: why',
    shop({ Accepted: 'False/AccountNotAllowed/not from here', Paired: 'Unknown' }),
    null,
    { do: 'give-up', say: 'AccountNotAllowed: not from here' },
  ],
  ['suspended: what to do about it', shop(UNPAIRED, { suspended: true }), null, { do: 'give-up' }],
  [
    'no status yet: the operator is waited for',
    resource(),
    null,
    { do: 'wait', say: 'Waiting for the operator' },
  ],
  [
    'the engine has yet to start: what it waits for',
    shop({ ...UNPAIRED, EngineRunning: 'False/Unschedulable/no room' }),
    null,
    { do: 'wait', say: 'Waiting for the engine (no room)' },
  ],
  ['the code of somebody else is not ours', shop(UNPAIRED), view({ request: 'other' }), { do: 'wait' }],
  ['a code: it is shown', shop(UNPAIRED), view(), { do: 'show', code: '2@x', seconds: 15 }],
  ['a code that has run out: the next is waited for', shop(UNPAIRED), view({ code: null }), { do: 'wait' }],
  [
    'a session that ended: why',
    shop(UNPAIRED),
    view({ code: null, error: 'timeout' }),
    { do: 'give-up', say: 'The pairing ended: timeout' },
  ],
])('%s', (_, instance, shown, step) => {
  expect(decideStep({ now: NOW, instance, view: shown, wish: 'mine' })).toMatchObject(step);
});
