import { sendTraffic } from '../../support/gateway/traffic.js';
import { megabytes, ownMegabytes } from './memory.js';
import { untilAllSent } from './sends.js';
import { replaceEngine, type Stage } from './stage.js';

const STEPS = 20;
/** Send limit of a phone number. Messages above it wait in the queue. */
const PER_SECOND = 100;

/**
 * Measures an engine's memory while it sends, after each twentieth of the messages. Growth counts from the second half,
 * because caches and the working set fill in the first.
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
    `growth in the second half: ${growth.toFixed(1)} MB, maximum ${Math.max(...sizes).toFixed(1)} MB`,
  );
}
