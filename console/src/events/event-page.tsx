import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { useAccount } from '../app/account';
import { AboutEvent } from '../conversations/about-message';
import { CopyText } from '../ui/copy-text';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { formatTime } from '../ui/time';

/** The payload of one event, as webhooks deliver it. */
export default function EventPage() {
  const { t, i18n } = useTranslation();
  const { id, gwk, path } = useAccount();
  const { event = '' } = useParams();
  const query = useQuery({
    queryKey: [id, 'event', event],
    queryFn: () => gwk.events.get(event),
  });
  return (
    <>
      <PageHeader
        title={query.data?.type ?? t('events.one')}
        back={{ to: path('events'), label: t('events.title') }}
      />
      <QueryView query={query}>
        {(found) => (
          <Stack>
            <Group>
              <Text size="sm">{formatTime(found.timestamp, i18n.language)}</Text>
              <CopyText text={found.id} />
            </Group>
            <AboutEvent event={found} />
            <CopyText text={JSON.stringify(found, null, 2)} block />
          </Stack>
        )}
      </QueryView>
    </>
  );
}
