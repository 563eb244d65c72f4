import { Anchor, Paper, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import { LIVE_MS } from '../ui/live';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';
import { DeliveryBadge } from '../webhooks/deliveries';

/** The webhook deliveries of the events about a message. */
export function MessageDeliveries({ messageId }: { messageId: string }) {
  const { t } = useTranslation();
  const { id, api, path } = useAccount();
  const query = useQuery({
    queryKey: [id, 'deliveries', 'message', messageId],
    queryFn: () =>
      takeData(
        api.GET('/console/api/messages/{message_id}/deliveries', {
          params: { path: { message_id: messageId } },
        }),
      ),
    refetchInterval: LIVE_MS,
  });
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4" mb="sm">
        {t('message.deliveries')}
      </Title>
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t('message.noDeliveries')}</Text>
          ) : (
            <Table aria-label={t('message.deliveries')}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t('deliveries.event')}</Table.Th>
                  <Table.Th>{t('common.state')}</Table.Th>
                  <Table.Th visibleFrom="sm">{t('deliveries.attempts')}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {data.map((delivery) => (
                  <Table.Tr key={delivery.id}>
                    <Table.Td className="wrap">
                      <Anchor component={Link} to={path(`deliveries/${delivery.id}`)}>
                        {delivery.event_type}
                      </Anchor>
                      <Text size="xs" c="dimmed">
                        {delivery.endpoint_url}
                      </Text>
                    </Table.Td>
                    <Table.Td>
                      <DeliveryBadge status={delivery.status} />
                      {delivery.next_attempt_at !== null && (
                        <Text size="xs" c="dimmed">
                          {t('deliveries.next')} <Time value={delivery.next_attempt_at} />
                        </Text>
                      )}
                    </Table.Td>
                    <Table.Td visibleFrom="sm">{delivery.attempts}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </QueryView>
    </Paper>
  );
}
