import { newUuid, toPublicId } from '@gwk/core/ids';
import type { DeliveryWorld, Post } from '@gwk/test/support/api/deliveries';
import { endpointUuid, verifies, WebhookStage } from '@gwk/test/support/api/webhook-stage';
import { MediaLinks } from '../media/links.js';

/** What a consumer verifies with the library of Standard Webhooks, which refuses what is older than five minutes. */
const LINK_MS = 24 * 3_600_000;

let stage: WebhookStage;
let world: DeliveryWorld;
beforeAll(async () => {
  stage = await WebhookStage.shared();
  world = stage.world;
});
afterEach(() => world.reset());

interface Told {
  type: string;
  timestamp: string;
  data: { media: { media_id: string; url: string }; [field: string]: unknown };
}
const toldBy = ({ body }: Post): Told => JSON.parse(body) as Told;
const endOf = (post: Post): number =>
  Number(new URL(toldBy(post).data.media.url).searchParams.get('expires')) * 1000;

function linkHolds(post: Post): boolean {
  const url = new URL(toldBy(post).data.media.url);
  const { searchParams, pathname } = url;
  const [expires, signature] = [searchParams.get('expires'), searchParams.get('signature')];
  const link = { id: pathname.split('/').at(-1)!, expires, signature };
  return new MediaLinks(world.sealer, 'http://127.0.0.1:8080').check(link).ok;
}

test('a delivery on its fourth attempt, and sent again days later with another secret, verifies: same id, all else fresh', async () => {
  const target = await world.startReceiver((res, _post, nth) => res.writeHead(nth < 4 ? 503 : 200).end());
  const { id, secret: first } = await stage.create(target.url);
  const media = { media_id: toPublicId('media', newUuid()), mimetype: 'image/png', size: 3, sha256: '00' };
  await world.emit(1, { media });
  await world.age(8);
  let clock = Date.now();
  /** When each attempt was made: timestamps are in seconds. */
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
  expect(posts.map(endOf)).toEqual(seconds.map((second) => second * 1000 + LINK_MS));
  expect(posts.map(linkHolds)).toEqual(Array(5).fill(true));
  expect(new Set(posts.map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set([toPublicId('event', delivered!.eventId)]),
  );
  const withoutLinks = posts.map((post) => {
    const told = toldBy(post);
    return { ...told, data: { ...told.data, media: { ...told.data.media, url: '' } } };
  });
  expect(new Set(withoutLinks.map((told) => JSON.stringify(told))).size).toBe(1);
  expect(withoutLinks[0]!.data).toEqual({ number: 0, media: { ...media, url: '' } });
});
