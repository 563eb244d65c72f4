import { ApiError } from '@gwk/client';
import { Anchor, Button, Group, Image, Modal, Skeleton, Stack, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure, useInViewport } from '@mantine/hooks';
import { IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { formatBytes } from '../ui/bytes';
import type { Content } from './rows';

type Stored = Extract<NonNullable<Content['media']>, { media_id: string }>;
type Link = components['schemas']['MediaOut'] & { url: string };

/** Pixels of each kind of file, also before it has arrived. */
const HEIGHTS: Partial<Record<Content['type'], number>> = { image: 220, video: 220, sticker: 120, audio: 54 };

/** A link is valid for an hour. */
const LINK_MS = 50 * 60_000;

/** A file of a message: shown or played if a browser can, and to download. */
export function Media({ content }: { content: Content }) {
  const { t } = useTranslation();
  const { media } = content;
  if (!media) return null;
  if ('media_id' in media) return <StoredMedia type={content.type} media={media} />;
  const reasons = t('conversations.noFile', { returnObjects: true });
  const known = media.error in reasons ? (media.error as keyof typeof reasons) : 'unavailable';
  return (
    <Text size="sm" c="dimmed">
      {media.filename} {reasons[known]}
    </Text>
  );
}

/** Asks for the link when the file comes into view. */
function StoredMedia({ type, media }: { type: Content['type']; media: Stored }) {
  const { t } = useTranslation();
  const { id, gwk } = useAccount();
  const { ref, inViewport } = useInViewport();
  const [cannotShow, setCannotShow] = useState(false);
  const { data, error } = useQuery({
    queryKey: [id, 'media', media.media_id],
    queryFn: async (): Promise<Link> => {
      const link = await gwk.media.get(media.media_id);
      return { ...link, url: link.url ?? '' };
    },
    staleTime: LINK_MS,
    refetchInterval: LINK_MS,
    enabled: inViewport,
  });
  if (error) {
    const isGone = error instanceof ApiError && ['media-expired', 'not-found'].includes(error.code);
    return (
      <Text size="sm" c="dimmed" className="wrap">
        {media.filename} {t(`conversations.noFile.${isGone ? 'removed' : 'unavailable'}`)}
      </Text>
    );
  }
  const kind = cannotShow ? 'document' : type;
  const fail = () => setCannotShow(true);
  return (
    <Stack ref={ref} gap={4} align="flex-start">
      {!data && HEIGHTS[kind] !== undefined && <Skeleton w={220} h={HEIGHTS[kind]} maw="100%" />}
      {data && kind === 'image' && <Picture link={data} fail={fail} />}
      {data && kind === 'sticker' && (
        <img src={data.url} alt="" className="media" height={HEIGHTS.sticker} onError={fail} />
      )}
      {data && kind === 'video' && (
        <video src={data.url} controls preload="metadata" className="media media-shown" onError={fail} />
      )}
      {data && kind === 'audio' && (
        <audio src={data.url} controls preload="metadata" className="media" onError={fail} />
      )}
      <Download url={data?.url} media={media} />
    </Stack>
  );
}

function Picture({ link, fail }: { link: Link; fail: () => void }) {
  const { t } = useTranslation();
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <UnstyledButton onClick={open} aria-label={t('conversations.picture')}>
        <img src={link.url} alt="" className="media media-shown" onError={fail} />
      </UnstyledButton>
      <Modal opened={opened} onClose={close} size="xl" closeButtonProps={{ 'aria-label': t('common.close') }}>
        <Stack>
          <Image src={link.url} alt="" fit="contain" mah="75dvh" />
          <Group justify="end">
            <Button
              component="a"
              href={link.url}
              download
              variant="default"
              leftSection={<IconDownload size={16} aria-hidden />}
            >
              {t('conversations.download')}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

/** The answer is an attachment, so a browser never shows it as a page. */
function Download({ url, media: { filename, size } }: { url: string | undefined; media: Stored }) {
  const { t, i18n } = useTranslation();
  return (
    <Anchor href={url} download rel="noreferrer" size="xs" underline="always" className="wrap">
      {filename ?? t('conversations.download')} ({formatBytes(size, i18n.language)})
    </Anchor>
  );
}
