import {
  ActionIcon,
  Alert,
  Button,
  Center,
  Divider,
  Group,
  Loader,
  Paper,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import { IconChevronLeft } from '@tabler/icons-react';
import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../app/account';
import { useInstanceName } from '../ui/instance-select';
import { ProblemAlert } from '../ui/problem-alert';
import { QueryView } from '../ui/query-view';
import { addFiles, AnswerBox } from './answer-box';
import { Bubble } from './bubble';
import { useCompose } from './compose';
import { showConversation } from './names';
import { Notice } from './notice';
import type { Conversation } from './obstacles';
import type { MessageRow, Row } from './rows';
import { useObstacle, useReadMarks, useThread } from './use-thread';

interface ThreadProps {
  conversation: Conversation;
  refetchInterval: number;
  /** The address of the list, where there is no room for it beside the thread. */
  back: string | null;
}

/** The messages of a conversation, and the box to answer in. */
export function Thread({ conversation, refetchInterval, back }: ThreadProps) {
  const { t } = useTranslation();
  const { can } = useAccount();
  const compose = useCompose(conversation);
  const { query, rows, received, hasOlder, loadOlder, isLoadingOlder, error } = useThread(
    conversation,
    refetchInterval,
  );
  useReadMarks(conversation, received);
  const obstacle = useObstacle(conversation, rows);
  const [isDropping, setDropping] = useState(false);
  const maySend = !obstacle?.blocks;
  const mayAttach = maySend && can('media:write');
  const reply = maySend ? (row: MessageRow) => compose.change({ replyTo: row }) : undefined;
  return (
    <Paper
      withBorder
      p="sm"
      className="conversations-column"
      component="section"
      onDragOver={(event) => {
        if (!mayAttach || !event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={(event) => {
        if (!mayAttach || event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        setDropping(false);
        addFiles(compose, event.dataTransfer.files);
      }}
    >
      <ThreadHeader conversation={conversation} back={back} />
      <Divider />
      {query.data === undefined ? (
        <QueryView query={query}>{() => null}</QueryView>
      ) : (
        <Scroll
          label={t('conversations.thread', { name: showConversation(conversation) })}
          isLeaving={compose.leaving !== null}
          older={hasOlder ? { load: loadOlder, isLoading: isLoadingOlder } : null}
        >
          <ProblemAlert error={query.error ?? error} />
          <Rows rows={rows ?? []} isGroup={conversation.kind === 'group'} onReply={reply} />
        </Scroll>
      )}
      {isDropping && (
        <Alert p="xs" role="status">
          {t('conversations.drop')}
        </Alert>
      )}
      <AnswerBox conversation={conversation} compose={compose} obstacle={obstacle} />
    </Paper>
  );
}

function ThreadHeader({ conversation, back }: Pick<ThreadProps, 'conversation' | 'back'>) {
  const { t } = useTranslation();
  const { path } = useAccount();
  const nameOf = useInstanceName();
  return (
    <Group gap="xs" pb="xs" wrap="nowrap">
      {back !== null && (
        <ActionIcon component={Link} to={back} variant="subtle" aria-label={t('conversations.back')}>
          <IconChevronLeft size={20} />
        </ActionIcon>
      )}
      <div>
        <Title order={back === null ? 2 : 1} size="h4" className="wrap">
          {showConversation(conversation)}
        </Title>
        <Text size="xs" c="dimmed" className="wrap">
          <Link to={path(`numbers/${conversation.instance_id}`)} style={{ color: 'inherit' }}>
            {nameOf(conversation.instance_id)}
          </Link>
        </Text>
      </div>
    </Group>
  );
}

interface ScrollProps {
  label: string;
  older: { load: () => void; isLoading: boolean } | null;
  /** A message is leaving, and will be the last one. */
  isLeaving: boolean;
  children: React.ReactNode;
}

/** Scrolls the messages, and loads older ones when the reader comes to the first. */
function Scroll({ label, older, isLeaving, children }: ScrollProps) {
  const { t } = useTranslation();
  const [container, setContainer] = useState<HTMLDivElement | null>(null);
  const { ref, entry } = useIntersection({ root: container, rootMargin: '200px 0px 0px 0px' });
  const load = useEffectEvent(() => older?.load());
  const isReached = entry?.isIntersecting === true && older?.isLoading === false;
  useEffect(() => {
    if (isReached) load();
  }, [isReached]);
  useEffect(() => {
    // A reversed column begins at its end.
    if (isLeaving) container?.scrollTo({ top: 0 });
  }, [container, isLeaving]);
  return (
    <div ref={setContainer} className="thread" role="log" aria-label={label} tabIndex={0}>
      <Stack gap="sm">
        {older && (
          <Center ref={ref}>
            {older.isLoading ? (
              <Loader size="sm" role="img" aria-label={t('common.loading')} />
            ) : (
              <Button variant="subtle" size="xs" onClick={older.load}>
                {t('conversations.older')}
              </Button>
            )}
          </Center>
        )}
        {children}
      </Stack>
    </div>
  );
}

interface RowsProps {
  rows: readonly Row[];
  isGroup: boolean;
  onReply: ((row: MessageRow) => void) | undefined;
}

function Rows({ rows, isGroup, onReply }: RowsProps) {
  const { t, i18n } = useTranslation();
  if (rows.length === 0) return <Text c="dimmed">{t('conversations.none')}</Text>;
  const days = rows.map(({ time }) =>
    new Date(time).toLocaleDateString(i18n.language, { dateStyle: 'full' }),
  );
  return rows.map((row, index) => (
    <Stack key={row.id} gap="sm">
      {days[index] !== days[index - 1] && (
        <Divider label={days[index]} labelPosition="center" styles={{ label: { color: 'inherit' } }} />
      )}
      {row.kind === 'notice' ? (
        <Notice event={row.event} />
      ) : (
        <Bubble row={row} isGroup={isGroup} onReply={onReply} />
      )}
    </Stack>
  ));
}
