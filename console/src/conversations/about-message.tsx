import { Anchor, Button, Group, List, Paper, Stack, Title } from '@mantine/core';
import { IconMessages } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Gwk } from '@gwk/client';
import { useAccount } from '../app/account';
import type { Message } from '../messages/status-badge';
import { LIVE_MS } from '../ui/live';
import { Time } from '../ui/time';
import { Bubble } from './bubble';
import './conversations.css';
import './texts';
import { conversationPath } from './names';
import { buildRows, type Event } from './rows';

const EVENTS = 200;
/** Later events of the conversation, before those of the message, that are searched. */
const MAX_PAGES = 10;
/** Age from which a message hardly changes any more. */
const CHANGING_MS = 600_000;

/** The stored content of a message, its events, and the way to its conversation. */
export function AboutMessage({ message }: { message: Message }) {
  const { t } = useTranslation();
  const { id, gwk, path, can } = useAccount();
  const { data: events } = useQuery({
    queryKey: [id, 'message', message.id, 'events'],
    queryFn: () => readEvents(gwk, message),
    enabled: can('events:read'),
    refetchInterval: () => (Date.now() - Date.parse(message.created_at) < CHANGING_MS ? LIVE_MS : false),
  });
  const row = events && buildRows({ messages: [message], events, sent: {}, from: null })[0];
  return (
    <>
      <ConversationButton conversation={message.conversation_id} instance={message.instance_id} />
      {row?.kind === 'message' && row.content && (
        <Paper withBorder p="lg" component="section">
          <Title order={2} size="h4" mb="sm">
            {t('message.content')}
          </Title>
          <Bubble row={row} isGroup />
        </Paper>
      )}
      {events && events.length > 0 && (
        <Paper withBorder p="lg" component="section">
          <Title order={2} size="h4" mb="sm">
            {t('events.title')}
          </Title>
          <List size="sm">
            {events.map((event) => (
              <List.Item key={event.id}>
                <Anchor component={Link} to={path(`events/${event.id}`)} size="sm" underline="always">
                  {event.type}
                </Anchor>{' '}
                · <Time value={event.timestamp} />
              </List.Item>
            ))}
          </List>
        </Paper>
      )}
    </>
  );
}

/** Events are newer than their message, and lists begin with the newest. */
async function readEvents(gwk: Gwk, { id, conversation_id, created_at }: Message): Promise<Event[]> {
  if (conversation_id === undefined) return [];
  const found: Event[] = [];
  const query = { conversation: conversation_id, since: created_at, limit: EVENTS };
  let cursor: string | null | undefined;
  for (let pages = 0; pages < MAX_PAGES && cursor !== null; pages++) {
    const at = { ...query, ...(cursor !== undefined && { cursor }) };
    const page = await gwk.events.list(at);
    found.push(...page.data.filter(({ data }) => 'message_id' in data && data.message_id === id));
    cursor = page.next_cursor;
  }
  return found;
}

/** The conversation of an event, which names only its message. */
export function AboutEvent({ event }: { event: Event }) {
  const { t } = useTranslation();
  const { id, gwk, path, can } = useAccount();
  const messageId = 'message_id' in event.data ? event.data.message_id : undefined;
  const { data: message } = useQuery({
    queryKey: [id, 'message of event', messageId],
    queryFn: () => gwk.messages.get(messageId!),
    enabled: messageId !== undefined && can('messages:read'),
  });
  const [row] = buildRows({ messages: message ? [message] : [], events: [event], sent: {}, from: null });
  return (
    <Stack>
      {message && (
        <Group>
          <ConversationButton conversation={message.conversation_id} instance={message.instance_id} />
          <Button component={Link} to={path(`messages/${message.id}`)} variant="default" size="xs">
            {t('conversations.details')}
          </Button>
        </Group>
      )}
      {row?.kind === 'message' && row.content && <Bubble row={row} isGroup />}
    </Stack>
  );
}

function ConversationButton({
  conversation,
  instance,
}: {
  conversation: string | undefined;
  instance: string;
}) {
  const { t } = useTranslation();
  const { path } = useAccount();
  if (conversation === undefined) return null;
  return (
    <Group>
      <Button
        component={Link}
        to={path(conversationPath(conversation, instance))}
        variant="default"
        size="xs"
        leftSection={<IconMessages size={16} aria-hidden />}
      >
        {t('conversations.open')}
      </Button>
    </Group>
  );
}
