import { sendTraffic } from '../../support/gateway/traffic.js';
import { megabytes, ownMegabytes } from './memory.js';
import { untilAllSent } from './sends.js';
import { replaceEngine, type Stage } from './stage.js';

const STEPS = 20;
/** As many as a number may send: what is over waits in the queue. */
const PER_SECOND = 100;

/**
 * Memory of one engine while it sends, from its start on: after each twentieth part of the messages, once all of them
 * have left. Growth is told of the second half: the first one fills what is meant to fill (caches, working set).
 */
export async function measureGrowth(
  stage: Stage,
  plan: { messages: number; conversations: number },
): Promise<void> {
  const pid = await replaceEngine(stage);
  const { customer, instanceId } = stage;
  const perConversation = Math.ceil(plan.messages / STEPS / plan.conversations);
  const sizes: number[] = [];
  console.log(
    `\nresident memory of one engine over ${STEPS * perConversation * plan.conversations} messages`,
  );
  for (let step = 0; step < STEPS; step++) {
    await sendTraffic({
      clients: customer.clients,
      instanceId,
      name: `growth ${step}`,
      conversations: plan.conversations,
      perConversation,
      perSecond: PER_SECOND,
    });
    await untilAllSent(stage);
    sizes.push(megabytes(pid));
    const sent = (step + 1) * perConversation * plan.conversations;
    console.log(
      `${String(sent).padStart(8)} messages ${megabytes(pid).toFixed(1)} MB, own ${ownMegabytes(pid).toFixed(1)}`,
    );
  }
  const half = sizes.slice(STEPS / 2);
  const growth = half.at(-1)! - sizes[STEPS / 2 - 1]!;
  console.log(
    `growth in the second half: ${growth.toFixed(1)} MB, highest ${Math.max(...sizes).toFixed(1)} MB`,
  );
}
