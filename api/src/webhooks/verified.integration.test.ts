import { fromPublicId, newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { DeliveryWorld, Post } from '@gwk/test/support/api/deliveries';
import { endpointUuid, verifies, WebhookStage } from '@gwk/test/support/api/webhook-stage';
import { MediaLinks } from '../media/links.js';

/** The Standard Webhooks library, which verifies here, rejects timestamps older than 5 minutes. */
const LINK_MS = 24 * 3_600_000;

let stage: WebhookStage;
let world: DeliveryWorld;
beforeAll(async () => {
  stage = await WebhookStage.shared();
  world = stage.world;
});
afterEach(() => world.reset());

interface EventBody {
  type: string;
  timestamp: string;
  data: { media: { media_id: string; url: string }; [field: string]: unknown };
}
const parseBody = ({ body }: Post): EventBody => JSON.parse(body) as EventBody;
const linkExpiry = (post: Post): number =>
  Number(new URL(parseBody(post).data.media.url).searchParams.get('expires')) * 1000;

function isLinkValid(post: Post): boolean {
  const url = new URL(parseBody(post).data.media.url);
  const { searchParams, pathname } = url;
  const [expires, signature] = [searchParams.get('expires'), searchParams.get('signature')];
  const link = { id: pathname.split('/').at(-1)!, expires, signature };
  return new MediaLinks(world.sealer, 'http://127.0.0.1:8080').open(link) === fromPublicId('media', link.id);
}

test('every attempt verifies, also after a rotation: same id, new timestamp, signature and link', async () => {
  const target = await world.startReceiver((res, _post, nth) => res.writeHead(nth < 4 ? 503 : 200).end());
  const { id, secret: first } = await stage.create(target.url);
  const media = { media_id: toPublicId('media', newUuid()), mimetype: 'image/png', size: 3, sha256: '00' };
  await world.emit(1, { media });
  await world.age(8);
  let clock = Date.now();
  /** Times of the attempts; timestamps are in seconds. */
  const times = [clock];
  const later = () => times.push((clock += 1_000));
  await world.startWorker({}, { now: () => new Date(clock) });
  for (const attempt of [1, 2, 3]) {
    await world.attempted(endpointUuid(id), attempt);
    later();
    await world.makeDue();
  }
  const [delivered] = await world.finished(endpointUuid(id));
  expect(delivered).toMatchObject({ status: 'succeeded', attempts: 4 });
  expect(Date.now() - delivered!.createdAt.getTime()).toBeGreaterThan(7 * 24 * 3_600_000);

  const { secret: second } = (await stage.rotate(id)).body;
  await world.db.webhookSecret.updateMany({
    where: { endpointId: endpointUuid(id), expiresAt: { not: null } },
    data: { expiresAt: new Date(Date.now() - 1) },
  });
  later();
  await stage.retry(toPublicId('delivery', delivered!.id));
  await world.attempted(endpointUuid(id), 5);

  const { posts } = target;
  expect(posts.map((post) => [verifies(first!, post), verifies(second, post)])).toEqual([
    [true, false],
    [true, false],
    [true, false],
    [true, false],
    [false, true],
  ]);
  const seconds = times.map((time) => Math.floor(time / 1000));
  expect(posts.map(({ headers }) => Number(headers['webhook-timestamp']))).toEqual(seconds);
  expect(posts.map(linkExpiry)).toEqual(seconds.map((second) => second * 1000 + LINK_MS));
  expect(posts.map(isLinkValid)).toEqual(Array(5).fill(true));
  expect(new Set(posts.map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set([toPublicId('event', delivered!.eventId)]),
  );
  const withoutLinks = posts.map((post) => {
    const event = parseBody(post);
    return { ...event, data: { ...event.data, media: { ...event.data.media, url: '' } } };
  });
  expect(new Set(withoutLinks.map((event) => JSON.stringify(event))).size).toBe(1);
  expect(withoutLinks[0]!.data).toEqual({ number: 0, media: { ...media, url: '' } });
});
