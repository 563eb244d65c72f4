import { Anchor, Badge, Group, Stack, Text } from '@mantine/core';
import { IconMapPin, IconUser } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { describeCard } from './details';
import { Media } from './media';
import type { Content } from './rows';

/** Shows the content of a message. Strangers write it, so React escapes the texts, and only web addresses become links. */
export function ContentView({ content }: { content: Content }) {
  const { t, i18n } = useTranslation();
  const { text, location, contacts, kind, is_forwarded: isForwarded, is_view_once: isViewOnce } = content;
  const { lines, options } = describeCard(content.details, i18n.language);
  const isEmpty = !text && !content.media && !location && !contacts && lines.length + options.length === 0;
  const mark = isViewOnce ? 'viewOnce' : isForwarded ? 'forwarded' : null;
  return (
    <Stack gap={4}>
      {mark && (
        <Text size="xs" c="dimmed" fs="italic">
          {t(`conversations.${mark}`)}
        </Text>
      )}
      <Media content={content} />
      {location && <Place location={location} />}
      {contacts?.map((card, index) => (
        <Group key={index} gap={6} wrap="nowrap">
          <IconUser size={16} aria-hidden />
          <Text size="sm" className="wrap">
            {[card.name, ...card.phones].filter(Boolean).join(' · ')}
          </Text>
        </Group>
      ))}
      {Boolean(text) && (
        <Text size="sm" className="bubble-text">
          <LinkedText text={text!} />
        </Text>
      )}
      {lines.map((line, index) => (
        <Text key={index} size="sm" className="bubble-text">
          {line}
        </Text>
      ))}
      {options.length > 0 && (
        <Group gap={4}>
          {options.map((option, index) => (
            <Badge key={index} variant="outline" tt="none" miw={0} maw="100%">
              {option}
            </Badge>
          ))}
        </Group>
      )}
      {isEmpty && (
        <Text size="sm" c="dimmed" fs="italic" className="wrap">
          {t('conversations.unknownContent', { kind: kind ?? t(`messages.types.${content.type}`) })}
        </Text>
      )}
    </Stack>
  );
}

const ADDRESS = /(https?:\/\/[^\s<>"]+[^\s<>"'.,;:!?)\]}])/i;

/** Other addresses than those of the web, such as scripts, stay text. */
function LinkedText({ text }: { text: string }) {
  // The pattern has one group, so each second part is an address.
  return text.split(ADDRESS).map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <Anchor key={index} href={part} target="_blank" rel="noreferrer noopener" inherit underline="always">
        {part}
      </Anchor>
    ),
  );
}

function Place({ location }: { location: NonNullable<Content['location']> }) {
  const { t } = useTranslation();
  const { latitude, longitude, name, address, is_live: isLive } = location;
  const at = `${latitude}, ${longitude}`;
  return (
    <Group gap={6} wrap="nowrap" align="flex-start">
      <IconMapPin size={16} aria-hidden />
      <div>
        {isLive === true && <Text size="xs">{t('conversations.live')}</Text>}
        <Text size="sm" className="wrap">
          {[name, address].filter(Boolean).join(', ')}
        </Text>
        <Anchor
          size="sm"
          href={`https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`}
          target="_blank"
          rel="noreferrer noopener"
          underline="always"
        >
          {at}
        </Anchor>
      </div>
    </Group>
  );
}
